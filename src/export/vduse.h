/* SPDX-License-Identifier: MIT */
/* The kernel's VDUSE interface (linux/vduse.h, API version 0), one function a call. No policy. */
#ifndef PST_VDUSE_H
#define PST_VDUSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/vduse.h>

#include <penstock/error.h>

struct pst_vduse {
	int control_fd;
	int fd;
	char name[VDUSE_NAME_MAX];
};

struct pst_vduse_params {
	const char *name;
	uint32_t device_id;
	uint64_t features;
	uint32_t queues;
	uint16_t queue_size;
	uint64_t bounce; /* bytes; set where the kernel has the file */
	uint32_t msg_timeout_s;
	const void *config;
	uint32_t config_size;
};

/*
 * Creates and opens a device. Returns 0; -ENODEV no vduse; -EEXIST the name is taken; -EACCES;
 * nothing is left behind on failure. *bounce receives the size the kernel really uses.
 */
int pst_vduse_create(struct pst_vduse *dev, const struct pst_vduse_params *params, uint64_t *bounce,
		     struct pst_error *err);

/* Closes the device and leaves it where it is. */
void pst_vduse_close(struct pst_vduse *dev);

/* Closes and destroys it; it must be detached. */
int pst_vduse_destroy(struct pst_vduse *dev, struct pst_error *err);

int pst_vduse_features(const struct pst_vduse *dev, uint64_t *features);
int pst_vduse_vq_info(const struct pst_vduse *dev, uint32_t index, struct vduse_vq_info *info);
/* fd -1 takes the present one away */
int pst_vduse_vq_kick_fd(const struct pst_vduse *dev, uint32_t index, int fd);
/* -EINVAL before the kernel has stored DRIVER_OK: try again */
int pst_vduse_vq_interrupt(const struct pst_vduse *dev, uint32_t index);

/* -EINVAL before the driver's first streaming mapping */
int pst_vduse_umem_register(const struct pst_vduse *dev, void *addr, uint64_t size);
int pst_vduse_umem_deregister(const struct pst_vduse *dev, void *addr, uint64_t size);

/* A mapping of [iova, iova + length), or of more; *addr is where iova is. */
struct pst_vduse_map {
	void *base;
	size_t length;
	unsigned char *addr;
};
int pst_vduse_map(const struct pst_vduse *dev, uint64_t iova, uint64_t length,
		  struct pst_vduse_map *map);
void pst_vduse_unmap(struct pst_vduse_map *map);

/* Messages. Receive returns 1, 0 when there is none, or a negative errno. */
int pst_vduse_receive(const struct pst_vduse *dev, struct vduse_dev_request *request);
int pst_vduse_reply(const struct pst_vduse *dev, const struct vduse_dev_response *response);

#endif
