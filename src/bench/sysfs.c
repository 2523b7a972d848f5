/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "base.h"
#include "sysfs.h"

#define CLASS "/sys/class/block"

int pst_sysfs_dev(const char *block, dev_t *dev)
{
	char path[PATH_MAX];
	char text[32];
	unsigned int maj, min;
	int n;

	(void)snprintf(path, sizeof(path), CLASS "/%s/dev", block);
	n = pst_read_line(path, text, sizeof(text));
	if (n < 0)
		return n;
	if (sscanf(text, "%u:%u", &maj, &min) != 2)
		return -EINVAL;
	*dev = makedev(maj, min);
	return 0;
}

bool pst_sysfs_is_partition(const char *block)
{
	char path[PATH_MAX];

	(void)snprintf(path, sizeof(path), CLASS "/%s/partition", block);
	return access(path, F_OK) == 0;
}

/* The directory of a partition lies in that of its disk. */
static void queue_path(const char *block, const char *attr, char *path, size_t size)
{
	(void)snprintf(path, size, CLASS "/%s/%squeue/%s", block,
		       pst_sysfs_is_partition(block) ? "../" : "", attr);
}

int pst_sysfs_queue_u64(const char *block, const char *attr, uint64_t *value)
{
	char path[PATH_MAX];

	queue_path(block, attr, path, sizeof(path));
	return pst_read_u64(path, value);
}

int pst_sysfs_queue_text(const char *block, const char *attr, char *text, size_t size)
{
	char path[PATH_MAX];
	int n;

	queue_path(block, attr, path, sizeof(path));
	n = pst_read_line(path, text, size);
	return n < 0 ? n : 0;
}

uint32_t pst_sysfs_hw_queues(const char *block)
{
	char path[PATH_MAX];
	const struct dirent *entry;
	uint32_t n = 0;
	DIR *dir;

	(void)snprintf(path, sizeof(path), CLASS "/%s/%smq", block,
		       pst_sysfs_is_partition(block) ? "../" : "");
	dir = opendir(path);
	if (!dir)
		return 0;
	while ((entry = readdir(dir)))
		n += entry->d_name[0] != '.';
	(void)closedir(dir);
	return n;
}

int pst_sysfs_each_part(const char *block, int (*fn)(const char *name, void *ctx), void *ctx)
{
	char path[PATH_MAX];
	const struct dirent *entry;
	int ret = fn(block, ctx);
	DIR *dir;

	if (ret)
		return ret;
	(void)snprintf(path, sizeof(path), CLASS "/%s", block);
	dir = opendir(path);
	if (!dir)
		return 0;
	while (ret == 0 && (entry = readdir(dir))) {
		if (strncmp(entry->d_name, block, strlen(block)) == 0 &&
		    pst_sysfs_is_partition(entry->d_name))
			ret = fn(entry->d_name, ctx);
	}
	(void)closedir(dir);
	return ret;
}

bool pst_sysfs_holder(const char *block, char name[PST_SYSFS_NAME])
{
	char path[PATH_MAX];
	const struct dirent *entry;
	bool found = false;
	DIR *dir;

	(void)snprintf(path, sizeof(path), CLASS "/%s/holders", block);
	dir = opendir(path);
	if (!dir)
		return false;
	while (!found && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		(void)snprintf(name, PST_SYSFS_NAME, "%.63s", entry->d_name);
		found = true;
	}
	(void)closedir(dir);
	return found;
}

uint32_t pst_sysfs_nvme_poll_queues(void)
{
	uint64_t n;

	return pst_read_u64("/sys/module/nvme/parameters/poll_queues", &n) == 0 ? (uint32_t)n : 0;
}
