/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "base.h"
#include "hostdev.h"

static void close_dir(DIR **dir)
{
	if (*dir)
		(void)closedir(*dir);
}
#define AUTO_DIR __attribute__((cleanup(close_dir)))

static void close_file(FILE **file)
{
	if (*file)
		(void)fclose(*file);
}
#define AUTO_FILE __attribute__((cleanup(close_file)))

/* The first entry of a directory that begins with prefix. */
static bool find_entry(const char *path, const char *prefix, char *name, size_t size)
{
	AUTO_DIR DIR *dir = opendir(path);
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.' || strncmp(entry->d_name, prefix, strlen(prefix)) != 0)
			continue;
		(void)snprintf(name, size, "%s", entry->d_name);
		return true;
	}
	return false;
}

bool pst_hostdev_attached(const char *name)
{
	char path[PATH_MAX];

	(void)snprintf(path, sizeof(path), "/sys/bus/vdpa/devices/%s", name);
	return access(path, F_OK) == 0;
}

int pst_hostdev_find(const char *name, char *device, size_t size)
{
	char path[PATH_MAX];
	char virtio[64];
	char block[64];

	(void)snprintf(path, sizeof(path), "/sys/bus/vdpa/devices/%s", name);
	if (!find_entry(path, "virtio", virtio, sizeof(virtio)))
		return -ENOENT;
	(void)snprintf(path, sizeof(path), "/sys/bus/vdpa/devices/%s/%s/block", name, virtio);
	if (!find_entry(path, "", block, sizeof(block)))
		return -ENOENT;
	(void)snprintf(device, size, "/dev/%s", block);
	return access(device, F_OK) == 0 ? 0 : -ENOENT;
}

struct users {
	dev_t whole;
	dev_t parts[64];
	size_t nr_parts;
	char *text;
	size_t size;
	bool any;
};

__attribute__((format(printf, 2, 3))) static void add(struct users *u, const char *fmt, ...)
{
	size_t used = strlen(u->text);
	va_list ap;

	if (u->any && used + 2 < u->size)
		used += (size_t)snprintf(u->text + used, u->size - used, ", ");
	u->any = true;
	va_start(ap, fmt);
	if (used < u->size)
		(void)vsnprintf(u->text + used, u->size - used, fmt, ap);
	va_end(ap);
}

static bool ours(const struct users *u, dev_t dev)
{
	size_t i;

	if (dev == u->whole)
		return true;
	for (i = 0; i < u->nr_parts; i++) {
		if (dev == u->parts[i])
			return true;
	}
	return false;
}

static dev_t read_dev(const char *dir)
{
	char path[PATH_MAX];
	char text[32];
	unsigned int maj, min;

	(void)snprintf(path, sizeof(path), "%s/dev", dir);
	if (pst_read_line(path, text, sizeof(text)) < 0 || sscanf(text, "%u:%u", &maj, &min) != 2)
		return 0;
	return makedev(maj, min);
}

static void find_holders(struct users *u, const char *sys)
{
	char path[PATH_MAX];
	char holder[64];

	(void)snprintf(path, sizeof(path), "%s/holders", sys);
	if (find_entry(path, "", holder, sizeof(holder)))
		add(u, "/dev/%s holds it", holder);
}

/* The device's own number, those of its partitions, and what holds them. */
static bool find_devices(struct users *u, const char *device)
{
	const char *base = strrchr(device, '/') + 1;
	char sys[128];
	char path[PATH_MAX];
	struct dirent *entry;

	(void)snprintf(sys, sizeof(sys), "/sys/class/block/%.63s", base);
	u->whole = read_dev(sys);
	if (!u->whole)
		return false;
	find_holders(u, sys);

	AUTO_DIR DIR *dir = opendir(sys);
	while (dir && (entry = readdir(dir)) && u->nr_parts < PST_ARRAY_SIZE(u->parts)) {
		(void)snprintf(path, sizeof(path), "%s/%.64s/partition", sys, entry->d_name);
		if (entry->d_name[0] == '.' || access(path, F_OK) != 0)
			continue;
		(void)snprintf(path, sizeof(path), "%s/%.64s", sys, entry->d_name);
		u->parts[u->nr_parts++] = read_dev(path);
		find_holders(u, path);
	}
	return true;
}

static void find_mounts(struct users *u)
{
	AUTO_FILE FILE *file = fopen("/proc/self/mountinfo", "re");
	char line[PATH_MAX * 2];
	unsigned int maj, min;
	char point[1024];

	while (file && fgets(line, sizeof(line), file)) {
		/* "36 35 98:0 /root /mount ..." (proc(5)) */
		if (sscanf(line, "%*d %*d %u:%u %*s %1023s", &maj, &min, point) == 3 &&
		    ours(u, makedev(maj, min)))
			add(u, "mounted on %s", point);
	}
}

static void find_swaps(struct users *u)
{
	AUTO_FILE FILE *file = fopen("/proc/swaps", "re");
	char line[PATH_MAX];
	char name[1024];
	struct stat st;

	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%1023s", name) == 1 && name[0] == '/' && stat(name, &st) == 0 &&
		    S_ISBLK(st.st_mode) && ours(u, st.st_rdev))
			add(u, "swap on %s", name);
	}
}

static bool process_has_open(const struct users *u, const char *pid)
{
	char path[PATH_MAX];
	struct dirent *entry;
	struct stat st;

	(void)snprintf(path, sizeof(path), "/proc/%.16s/fd", pid);
	AUTO_DIR DIR *dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		if (fstatat(dirfd(dir), entry->d_name, &st, 0) == 0 && S_ISBLK(st.st_mode) &&
		    ours(u, st.st_rdev))
			return true;
	}
	return false;
}

static void find_processes(struct users *u)
{
	AUTO_DIR DIR *dir = opendir("/proc");
	struct dirent *entry;
	char path[64];
	char comm[32];

	while (dir && (entry = readdir(dir))) {
		if (!isdigit((unsigned char)entry->d_name[0]) ||
		    !process_has_open(u, entry->d_name))
			continue;
		(void)snprintf(path, sizeof(path), "/proc/%.16s/comm", entry->d_name);
		if (pst_read_line(path, comm, sizeof(comm)) < 0)
			comm[0] = '\0';
		add(u, "open in %s (process %.16s)", comm, entry->d_name);
	}
}

/* A mount in a container's namespace is seen by nobody else, but it claims the device. */
static void find_claim(struct users *u, const char *device)
{
	PST_AUTO_CLOSE int fd = u->any ? -1 : open(device, O_RDONLY | O_EXCL | O_CLOEXEC);

	if (!u->any && fd < 0 && errno == EBUSY)
		add(u, "claimed by a mount or holder in another namespace");
}

static bool find_users(const char *device, char *text, size_t size, bool *lasting)
{
	struct users u = {.text = text, .size = size};

	text[0] = '\0';
	if (!find_devices(&u, device))
		return false;
	find_mounts(&u);
	find_swaps(&u);
	*lasting = u.any;
	find_processes(&u);
	find_claim(&u, device);
	return u.any;
}

bool pst_hostdev_users(const char *device, char *users, size_t size)
{
	const struct timespec pause = {.tv_nsec = 20000000};
	bool lasting = false;
	int tries;

	/* A device manager looks at a disk whenever it changes: that one soon goes away by itself.
	 */
	for (tries = 0; tries < 15; tries++) {
		if (!find_users(device, users, size, &lasting))
			return false;
		if (lasting)
			return true;
		(void)nanosleep(&pause, NULL);
	}
	return true;
}
