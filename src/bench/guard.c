/* SPDX-License-Identifier: MIT */
/*
 * What stands between --allow-write and somebody's data. Passthrough ignores mounts, partitions and
 * the page cache, so nothing below would stop it.
 */
#include <blkid/blkid.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base.h"
#include "target.h"

struct user {
	char where[256];
};

/* Is the device with this number mounted? mountinfo: id, parent, major:minor, root, mount point. */
static bool find_mount(dev_t dev, struct user *user)
{
	FILE *file = fopen("/proc/self/mountinfo", "re");
	char line[4096];
	unsigned int maj, min;
	bool found = false;

	if (!file)
		return false;
	while (!found && fgets(line, sizeof(line), file)) {
		found = sscanf(line, "%*d %*d %u:%u %*s %255s", &maj, &min, user->where) == 3 &&
			makedev(maj, min) == dev;
	}
	(void)fclose(file);
	return found;
}

static bool find_swap(dev_t dev, struct user *user)
{
	FILE *file = fopen("/proc/swaps", "re");
	char line[4096];
	struct stat st;
	bool found = false;

	if (!file)
		return false;
	while (!found && fgets(line, sizeof(line), file)) {
		found = sscanf(line, "%255s", user->where) == 1 && user->where[0] == '/' &&
			stat(user->where, &st) == 0 && S_ISBLK(st.st_mode) && st.st_rdev == dev;
	}
	(void)fclose(file);
	return found;
}

static int check_part(const char *name, void *ctx)
{
	struct pst_error *err = ctx;
	char holder[PST_SYSFS_NAME];
	struct user user;
	dev_t dev;

	if (pst_sysfs_holder(name, holder))
		return pst_error_set(
			err, -EBUSY,
			"/dev/%s is used by /dev/%s: writing to it needs that one closed, "
			"or --force",
			name, holder);
	if (pst_sysfs_dev(name, &dev) != 0)
		return 0;
	if (find_mount(dev, &user))
		return pst_error_set(
			err, -EBUSY,
			"/dev/%s is mounted on %s: writing to it needs it unmounted, or "
			"--force",
			name, user.where);
	if (find_swap(dev, &user))
		return pst_error_set(
			err, -EBUSY,
			"/dev/%s is swap space: writing to it needs swapoff, or --force", name);
	return 0;
}

/* Holding the node also keeps others from mounting it while we write. */
static int hold(struct pst_bench_target *t, struct pst_error *err)
{
	t->hold_fd = open(t->block_path, O_RDONLY | O_EXCL | O_CLOEXEC);
	if (t->hold_fd >= 0 || errno != EBUSY)
		return 0;
	return pst_error_set(
		err, -EBUSY,
		"%s is held by another program or driver: writing to it needs that one "
		"ended, or --force",
		t->block_path);
}

static int check_content(const struct pst_bench_target *t, struct pst_error *err)
{
	blkid_probe probe = blkid_new_probe_from_filename(t->block_path);
	const char *what = NULL;
	int ret = 0;

	if (!probe)
		return pst_error_set(
			err, -EIO,
			"it cannot be found out whether %s carries data: %s; --force writes "
			"nevertheless",
			t->block_path, pst_errname(-errno));
	(void)blkid_probe_enable_superblocks(probe, 1);
	(void)blkid_probe_set_superblocks_flags(probe, BLKID_SUBLKS_TYPE);
	(void)blkid_probe_enable_partitions(probe, 1);
	switch (blkid_do_safeprobe(probe)) {
	case 0:
		if (blkid_probe_lookup_value(probe, "TYPE", &what, NULL) != 0 &&
		    blkid_probe_lookup_value(probe, "PTTYPE", &what, NULL) != 0)
			what = "unknown";
		ret = pst_error_set(
			err, -EEXIST,
			"%s carries a file system or partition table (%s): wipe it with "
			"wipefs, or say --force",
			t->block_path, what);
		break;
	case -2:
		ret = pst_error_set(
			err, -EEXIST,
			"%s carries more than one file system or partition table: wipe them "
			"with wipefs, or say --force",
			t->block_path);
		break;
	case 1:
		break;
	default:
		ret = pst_error_set(
			err, -EIO,
			"%s cannot be searched for data: %s; --force writes nevertheless",
			t->block_path, pst_errname(-errno));
	}
	blkid_free_probe(probe);
	return ret;
}

int pst_bench_guard(struct pst_bench_target *t, bool force, struct pst_error *err)
{
	int ret = 0;

	/* Without a readable block node nobody can have mounted anything. */
	if (!t->block_path[0])
		return 0;
	if (t->block_name[0]) {
		if (!force)
			ret = pst_sysfs_each_part(t->block_name, check_part, err);
		if (ret == 0)
			ret = hold(t, force ? NULL : err);
		if (force)
			ret = 0;
	}
	if (ret || force)
		return ret;
	return check_content(t, err);
}
