/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base.h"
#include "vduse.h"

#define CONTROL "/dev/vduse/control"
#define VIRTQ_ALIGN 4096

static int open_control(struct pst_error *err)
{
	uint64_t version = 0;
	int fd = open(CONTROL, O_RDWR | O_CLOEXEC);

	if (fd < 0) {
		int code = -errno;

		if (code == -ENOENT || code == -ENODEV || code == -ENXIO)
			return pst_error_set(err, -ENODEV,
					     CONTROL
					     " does not exist: load the module with: modprobe "
					     "vduse (kernels before 5.15 and some configurations, "
					     "Debian's 6.1 among them, have none)");
		return pst_error_set(
			err, code, CONTROL " cannot be opened: %s%s", pst_errname(code),
			code == -EACCES ? "; run as root or give this user access" : "");
	}
	if (ioctl(fd, VDUSE_SET_API_VERSION, &version) != 0) {
		int code = -errno;

		close(fd);
		return pst_error_set(err, code, CONTROL " does not take API version 0: %s",
				     pst_errname(code));
	}
	return fd;
}

static int create_failed(const char *name, int code, struct pst_error *err)
{
	if (code == -EEXIST)
		return pst_error_set(
			err, code,
			"a device named %s exists already (/dev/vduse/%s): choose another "
			"name, end the daemon that serves it, or remove what a dead one left "
			"(vdpa dev del %s)",
			name, name, name);
	return pst_error_set(err, code, "device %s cannot be created: %s", name, pst_errname(code));
}

static int create(const struct pst_vduse *dev, const struct pst_vduse_params *params,
		  struct pst_error *err)
{
	struct vduse_dev_config *config = calloc(1, sizeof(*config) + params->config_size);
	int ret;

	if (!config)
		return create_failed(dev->name, -ENOMEM, err);
	memcpy(config->name, dev->name, sizeof(config->name));
	config->device_id = params->device_id;
	config->features = params->features;
	config->vq_num = params->queues;
	config->vq_align = VIRTQ_ALIGN;
	config->config_size = params->config_size;
	memcpy(config->config, params->config, params->config_size);
	ret = ioctl(dev->control_fd, VDUSE_CREATE_DEV, config) == 0 ? 0 : -errno;
	free(config);
	return ret ? create_failed(dev->name, ret, err) : 0;
}

/* Best effort where the kernel is older than the file; the size in use is read back. */
static int set_attributes(const struct pst_vduse *dev, const struct pst_vduse_params *params,
			  uint64_t *bounce, struct pst_error *err)
{
	char path[PATH_MAX];
	char text[32];
	int ret;

	(void)snprintf(path, sizeof(path), "/sys/class/vduse/%s/msg_timeout", dev->name);
	(void)snprintf(text, sizeof(text), "%u", params->msg_timeout_s);
	ret = pst_write_file(path, text);
	if (ret)
		pst_log(PST_LOG_WARNING, dev->name, "%s cannot be set to %s: %s", path, text,
			pst_errname(ret));

	(void)snprintf(path, sizeof(path), "/sys/class/vduse/%s/bounce_size", dev->name);
	(void)snprintf(text, sizeof(text), "%llu", (unsigned long long)params->bounce);
	ret = pst_write_file(path, text);
	if (ret && ret != -ENOENT)
		return pst_error_set(err, ret,
				     "the bounce region of %s cannot be set to %s bytes: %s",
				     dev->name, text, pst_errname(ret));
	if (pst_read_u64(path, bounce) != 0)
		*bounce = 64U << 20; /* what kernels without the file use */
	if (*bounce != params->bounce)
		pst_log(PST_LOG_WARNING, dev->name,
			"the bounce region has %llu bytes, not %llu as asked: this kernel cannot "
			"change it",
			(unsigned long long)*bounce, (unsigned long long)params->bounce);
	return 0;
}

static int setup_queues(const struct pst_vduse *dev, const struct pst_vduse_params *params,
			struct pst_error *err)
{
	struct vduse_vq_config vq = {.max_size = params->queue_size};

	for (vq.index = 0; vq.index < params->queues; vq.index++) {
		if (ioctl(dev->fd, VDUSE_VQ_SETUP, &vq) != 0)
			return pst_error_set(err, -errno, "virtqueue %u of %s cannot be set up: %s",
					     vq.index, dev->name, pst_errname(errno));
	}
	return 0;
}

int pst_vduse_create(struct pst_vduse *dev, const struct pst_vduse_params *params, uint64_t *bounce,
		     struct pst_error *err)
{
	char path[PATH_MAX];
	int ret;

	memset(dev, 0, sizeof(*dev));
	dev->fd = -1;
	(void)snprintf(dev->name, sizeof(dev->name), "%s", params->name);
	dev->control_fd = open_control(err);
	if (dev->control_fd < 0)
		return dev->control_fd;
	ret = create(dev, params, err);
	if (ret) {
		pst_vduse_close(dev);
		return ret;
	}

	(void)snprintf(path, sizeof(path), "/dev/vduse/%s", dev->name);
	dev->fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (dev->fd < 0)
		ret = pst_error_set(err, -errno, "%s cannot be opened: %s", path,
				    pst_errname(errno));
	if (ret == 0)
		ret = set_attributes(dev, params, bounce, err);
	if (ret == 0)
		ret = setup_queues(dev, params, err);
	if (ret)
		(void)pst_vduse_destroy(dev, NULL);
	return ret;
}

void pst_vduse_close(struct pst_vduse *dev)
{
	if (dev->fd >= 0)
		close(dev->fd);
	if (dev->control_fd >= 0)
		close(dev->control_fd);
	dev->fd = dev->control_fd = -1;
}

int pst_vduse_destroy(struct pst_vduse *dev, struct pst_error *err)
{
	const struct timespec pause = {.tv_nsec = 10000000};
	int tries;
	int ret = 0;

	if (dev->fd >= 0)
		close(dev->fd);
	dev->fd = -1;
	/* The kernel lets go of the descriptor a little later than close returns. */
	for (tries = 0; tries < 200; tries++) {
		ret = ioctl(dev->control_fd, VDUSE_DESTROY_DEV, dev->name) == 0 ? 0 : -errno;
		if (ret != -EBUSY)
			break;
		(void)nanosleep(&pause, NULL);
	}
	pst_vduse_close(dev);
	if (ret)
		return pst_error_set(err, ret,
				     "device %s cannot be destroyed: %s; see whether it is still "
				     "attached: vdpa dev show",
				     dev->name, pst_errname(ret));
	return 0;
}

int pst_vduse_features(const struct pst_vduse *dev, uint64_t *features)
{
	return ioctl(dev->fd, VDUSE_DEV_GET_FEATURES, features) == 0 ? 0 : -errno;
}

int pst_vduse_vq_info(const struct pst_vduse *dev, uint32_t index, struct vduse_vq_info *info)
{
	memset(info, 0, sizeof(*info));
	info->index = index;
	return ioctl(dev->fd, VDUSE_VQ_GET_INFO, info) == 0 ? 0 : -errno;
}

int pst_vduse_vq_kick_fd(const struct pst_vduse *dev, uint32_t index, int fd)
{
	struct vduse_vq_eventfd kick = {.index = index, .fd = fd};

	return ioctl(dev->fd, VDUSE_VQ_SETUP_KICKFD, &kick) == 0 ? 0 : -errno;
}

int pst_vduse_vq_interrupt(const struct pst_vduse *dev, uint32_t index)
{
	return ioctl(dev->fd, VDUSE_VQ_INJECT_IRQ, &index) == 0 ? 0 : -errno;
}

int pst_vduse_umem_register(const struct pst_vduse *dev, void *addr, uint64_t size)
{
	struct vduse_iova_umem umem = {.uaddr = (uintptr_t)addr, .iova = 0, .size = size};

	return ioctl(dev->fd, VDUSE_IOTLB_REG_UMEM, &umem) == 0 ? 0 : -errno;
}

int pst_vduse_umem_deregister(const struct pst_vduse *dev, void *addr, uint64_t size)
{
	struct vduse_iova_umem umem = {.uaddr = (uintptr_t)addr, .iova = 0, .size = size};

	return ioctl(dev->fd, VDUSE_IOTLB_DEREG_UMEM, &umem) == 0 ? 0 : -errno;
}

int pst_vduse_map(const struct pst_vduse *dev, uint64_t iova, uint64_t length,
		  struct pst_vduse_map *map)
{
	struct vduse_iotlb_entry entry = {.start = iova, .last = iova + length - 1};
	int prot = 0;
	void *base;
	int fd;

	memset(map, 0, sizeof(*map));
	if (length == 0 || iova > UINT64_MAX - length)
		return -EINVAL;
	fd = ioctl(dev->fd, VDUSE_IOTLB_GET_FD, &entry);
	if (fd < 0)
		return -errno;
	/* The kernel answers with the first range that overlaps: it must cover all that was asked.
	 */
	if (entry.start > iova || entry.last < iova + length - 1 ||
	    entry.last - entry.start >= SIZE_MAX) {
		close(fd);
		return -EFAULT;
	}
	prot |= entry.perm & VDUSE_ACCESS_RO ? PROT_READ : 0;
	prot |= entry.perm & VDUSE_ACCESS_WO ? PROT_READ | PROT_WRITE : 0;
	map->length = (size_t)(entry.last - entry.start + 1);
	base = mmap(NULL, map->length, prot, MAP_SHARED, fd, (off_t)entry.offset);
	close(fd);
	if (base == MAP_FAILED) {
		memset(map, 0, sizeof(*map));
		return -errno;
	}
	map->base = base;
	map->addr = (unsigned char *)base + (iova - entry.start);
	return 0;
}

void pst_vduse_unmap(struct pst_vduse_map *map)
{
	if (map->base)
		(void)munmap(map->base, map->length);
	memset(map, 0, sizeof(*map));
}

int pst_vduse_receive(const struct pst_vduse *dev, struct vduse_dev_request *request)
{
	ssize_t n = read(dev->fd, request, sizeof(*request));

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	return n == sizeof(*request) ? 1 : -EIO;
}

int pst_vduse_reply(const struct pst_vduse *dev, const struct vduse_dev_response *response)
{
	ssize_t n = write(dev->fd, response, sizeof(*response));

	if (n < 0)
		return -errno;
	return n == sizeof(*response) ? 0 : -EIO;
}
