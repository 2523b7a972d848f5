/* SPDX-License-Identifier: MIT */
/* What sysfs knows about a namespace that Identify does not say. */
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base.h"
#include "nvme_int.h"

/* The block node of ng0n1 is nvme0n1: the kernel names both by the same two numbers. */
static void block_of(const char *node, char *block, size_t size)
{
	char path[PATH_MAX];

	(void)snprintf(block, size, "nvme%.24s", node + 2);
	(void)snprintf(path, sizeof(path), "/sys/class/block/%s", block);
	if (access(path, F_OK) != 0)
		block[0] = '\0';
}

static void controller_of(const char *node, char *controller, size_t size)
{
	char path[PATH_MAX];
	char target[PATH_MAX];
	ssize_t n;

	(void)snprintf(path, sizeof(path), "/sys/class/nvme-generic/%s/device", node);
	n = readlink(path, target, sizeof(target) - 1);
	if (n < 0)
		return;
	target[n] = '\0';
	(void)snprintf(controller, size, "%.31s", basename(target));
}

void pst_nvme_sysfs_read(const char *node, struct pst_nvme_sysfs *info)
{
	static const char queue_files[][24] = {"max_hw_sectors_kb", "max_segments", "dma_alignment",
					       "nr_requests"};
	uint64_t *const values[] = {&info->max_hw_sectors_kb, &info->max_segments,
				    &info->dma_alignment, &info->nr_requests};
	char path[PATH_MAX];
	char text[32];
	size_t i;

	memset(info, 0, sizeof(*info));
	info->numa_node = -1;
	block_of(node, info->block, sizeof(info->block));
	controller_of(node, info->controller, sizeof(info->controller));

	if (info->block[0]) {
		for (i = 0; i < PST_ARRAY_SIZE(values); i++) {
			(void)snprintf(path, sizeof(path), "/sys/class/block/%s/queue/%s",
				       info->block, queue_files[i]);
			if (pst_read_u64(path, values[i]) != 0)
				*values[i] = 0;
		}
	}
	if (info->controller[0]) {
		(void)snprintf(path, sizeof(path), "/sys/class/nvme/%s/transport",
			       info->controller);
		(void)pst_read_line(path, info->transport, sizeof(info->transport));
		(void)snprintf(path, sizeof(path), "/sys/class/nvme/%s/device/numa_node",
			       info->controller);
		/* -1 is a common answer, so this is no unsigned number. */
		if (pst_read_line(path, text, sizeof(text)) > 0)
			info->numa_node = atoi(text);
	}
}
