/* SPDX-License-Identifier: MIT */
/* Opening a generic namespace node, with a sentence for everything a user may have meant. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base.h"
#include "nvme_int.h"

/* "nvme0n1" and "nvme0n1p2" both belong to "ng0n1"; false when it is no such name. */
static bool generic_of_block(const char *name, char *generic, size_t size)
{
	unsigned int ctrl, ns;
	int used = 0;

	if (sscanf(name, "nvme%un%u%n", &ctrl, &ns, &used) != 2)
		return false;
	(void)snprintf(generic, size, "ng%un%u", ctrl, ns);
	return true;
}

static int refuse_block(const char *path, const char *name, struct pst_error *err)
{
	char generic[32];
	char partition[PATH_MAX];
	bool part;

	(void)snprintf(partition, sizeof(partition), "/sys/class/block/%s/partition", name);
	part = access(partition, F_OK) == 0;
	if (!generic_of_block(name, generic, sizeof(generic)))
		return pst_error_set(
			err, -ENODEV,
			"%s is a block device that is not NVMe: name a generic NVMe node "
			"such as /dev/ng0n1, or use file:%s",
			path, path);
	if (part)
		return pst_error_set(
			err, -ENODEV,
			"%s is a partition, and passthrough knows none: name the namespace "
			"/dev/%s, with offset= and size= for a slice of it",
			path, generic);
	return pst_error_set(err, -ENODEV,
			     "%s is a block node: passthrough needs the namespace's generic node, "
			     "/dev/%s",
			     path, generic);
}

static int open_failed(const char *path, int code, struct pst_error *err)
{
	switch (code) {
	case -ENOENT:
		return pst_error_set(
			err, code,
			"%s does not exist: name a generic NVMe node such as /dev/ng0n1 "
			"(ls /dev/ng*)",
			path);
	case -EACCES:
	case -EPERM:
		return pst_error_set(
			err, code,
			"%s cannot be opened: no permission; run as root or give this user "
			"access to the node",
			path);
	default:
		return pst_error_set(err, code, "%s cannot be opened: %s", path, pst_errname(code));
	}
}

/* Finds out what the path is before anything is sent to it. */
static int check_node(const char *path, struct pst_nvme_ns *ns, struct pst_error *err)
{
	char name[32] = "";
	struct stat st;

	if (stat(path, &st) != 0)
		return open_failed(path, -errno, err);
	if (!S_ISCHR(st.st_mode) && !S_ISBLK(st.st_mode))
		return pst_error_set(err, -ENODEV,
				     "%s is not a device node: name a generic NVMe node such as "
				     "/dev/ng0n1",
				     path);
	if (pst_sysfs_name(S_ISBLK(st.st_mode), st.st_rdev, name, sizeof(name)) != 0)
		return pst_error_set(err, -ENODEV,
				     "%s belongs to no device that the kernel knows: is "
				     "the namespace gone?",
				     path);
	if (S_ISBLK(st.st_mode))
		return refuse_block(path, name, err);
	if (strncmp(name, "ng", 2) != 0 || !strchr(name, 'n'))
		return pst_error_set(err, -ENODEV,
				     "%s is not a namespace%s: name a generic NVMe node such as "
				     "/dev/ng0n1",
				     path,
				     strncmp(name, "nvme", 4) == 0 ? " but a controller" : "");
	(void)snprintf(ns->node, sizeof(ns->node), "%s", name);
	return 0;
}

static int identify(struct pst_nvme_ns *ns, uint32_t nsid, uint8_t cns, void *data,
		    struct pst_error *err)
{
	struct nvme_uring_cmd cmd;
	struct pst_nvme_result result;

	pst_nvme_cmd_identify(&cmd, nsid, cns, 0, data);
	(void)pst_nvme_admin_sync(ns->fd, &cmd, &result);
	if (result.error)
		return pst_error_set(err, result.error, "%s cannot be identified: %s%s", ns->node,
				     pst_errname(result.error),
				     result.error == -EACCES || result.error == -EPERM
					     ? "; this kernel lets only root (CAP_SYS_ADMIN) do so"
					     : "");
	if (result.status)
		return pst_error_set(err, -EIO, "%s cannot be identified: the controller says %s",
				     ns->node, pst_nvme_status_text(result.status));
	return 0;
}

static int identify_all(struct pst_nvme_ns *ns, struct pst_error *err)
{
	_Alignas(4096) struct pst_nvme_id_ctrl ctrl = {0};
	_Alignas(4096) struct pst_nvme_id_ns id = {0};
	struct pst_nvme_sysfs sysfs;
	int nsid = ioctl(ns->fd, NVME_IOCTL_ID);
	int ret;

	if (nsid <= 0)
		return pst_error_set(err, nsid < 0 ? -errno : -ENODEV,
				     "%s does not tell its namespace identifier: is it an NVMe "
				     "generic node?",
				     ns->node);
	ns->nsid = (uint32_t)nsid;
	ret = identify(ns, 0, PST_NVME_CNS_CTRL, &ctrl, err);
	if (ret)
		return ret;
	ret = identify(ns, ns->nsid, PST_NVME_CNS_NS, &id, err);
	if (ret)
		return ret;
	pst_nvme_sysfs_read(ns->node, &sysfs);
	return pst_nvme_decode(ns, &ctrl, &id, &sysfs, err);
}

int pst_nvme_open(const char *path, bool writable, struct pst_nvme_ns **out, struct pst_error *err)
{
	struct pst_nvme_ns *ns = calloc(1, sizeof(*ns));
	int ret;

	if (!ns)
		return pst_error_set(err, -ENOMEM, "out of memory for %s", path);
	ns->fd = -1;
	ret = check_node(path, ns, err);
	if (ret)
		goto fail;
	ns->fd = open(path, (writable ? O_RDWR : O_RDONLY) | O_CLOEXEC);
	if (ns->fd < 0) {
		ret = open_failed(path, -errno, err);
		goto fail;
	}
	ns->writable = writable;
	ret = identify_all(ns, err);
	if (ret)
		goto fail;
	*out = ns;
	return 0;

fail:
	pst_nvme_close(ns);
	return ret;
}

void pst_nvme_close(struct pst_nvme_ns *ns)
{
	if (!ns)
		return;
	if (ns->fd >= 0)
		close(ns->fd);
	free(ns);
}
