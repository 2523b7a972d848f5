/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base.h"

int pst_sysfs_name(bool block, dev_t dev, char *name, size_t size)
{
	char link[64];
	char target[PATH_MAX];
	const char *slash;
	ssize_t n;

	(void)snprintf(link, sizeof(link), "/sys/dev/%s/%u:%u", block ? "block" : "char",
		       major(dev), minor(dev));
	n = readlink(link, target, sizeof(target) - 1);
	if (n < 0)
		return -errno;
	target[n] = '\0';
	slash = strrchr(target, '/');
	slash = slash ? slash + 1 : target;
	if (strlen(slash) >= size)
		return -ENAMETOOLONG;
	memcpy(name, slash, strlen(slash) + 1);
	return 0;
}
