/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>

#include "base.h"
#include "claims.h"

/* A device of which something is claimed. */
struct device {
	struct pst_list link;
	struct pst_list claims;
	dev_t dev;
	ino_t ino;
	int hold_fd;
	bool held;
};

struct pst_claim {
	struct pst_list link;
	struct device *device;
	uint64_t offset;
	uint64_t length;
	bool read_only;
	bool force;
};

/* Of the process, as the devices are: the kernel knows processes, not our objects. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct pst_list devices = PST_LIST_INIT(devices);

static struct device *find_or_add(const struct pst_claim_params *params)
{
	struct pst_list *pos;
	struct device *device;

	pst_list_for_each (pos, &devices) {
		device = pst_container_of(pos, struct device, link);
		if (device->dev == params->dev && device->ino == params->ino)
			return device;
	}
	device = calloc(1, sizeof(*device));
	if (!device)
		return NULL;
	device->dev = params->dev;
	device->ino = params->ino;
	device->hold_fd = -1;
	pst_list_init(&device->claims);
	pst_list_append(&devices, &device->link);
	return device;
}

static void drop_if_unclaimed(struct device *device)
{
	if (!pst_list_empty(&device->claims))
		return;
	if (device->hold_fd >= 0)
		close(device->hold_fd);
	pst_list_remove(&device->link);
	free(device);
}

static const struct pst_claim *find_overlap(const struct device *device,
					    const struct pst_claim_params *params)
{
	const struct pst_list *pos;

	pst_list_for_each (pos, &device->claims) {
		const struct pst_claim *other = pst_container_of(pos, struct pst_claim, link);

		if (params->offset < other->offset + other->length &&
		    other->offset < params->offset + params->length &&
		    !(params->read_only && other->read_only) && !(params->force && other->force))
			return other;
	}
	return NULL;
}

static int take(struct device *device, const struct pst_claim_params *params, struct pst_error *err)
{
	const struct pst_claim *other = find_overlap(device, params);

	if (other)
		return pst_error_set(
			err, -EBUSY,
			"%s: bytes %" PRIu64 " to %" PRIu64
			" are served already, by an export of bytes %" PRIu64 " to %" PRIu64
			"; choose another offset and size, or make both read-only",
			params->source, params->offset, params->offset + params->length - 1,
			other->offset, other->offset + other->length - 1);
	if (!params->force && !device->held) {
		int ret = params->hold(params->ctx, &device->hold_fd, err);

		if (ret)
			return ret;
		device->held = true;
	}
	return 0;
}

int pst_claim_take(const struct pst_claim_params *params, struct pst_claim **out,
		   struct pst_error *err)
{
	struct pst_claim *claim = calloc(1, sizeof(*claim));
	struct device *device;
	int ret;

	(void)pthread_mutex_lock(&lock);
	device = claim ? find_or_add(params) : NULL;
	if (!device) {
		ret = pst_error_set(err, -ENOMEM, "out of memory for %s", params->source);
	} else {
		ret = take(device, params, err);
		if (ret) {
			drop_if_unclaimed(device);
		} else {
			claim->device = device;
			claim->offset = params->offset;
			claim->length = params->length;
			claim->read_only = params->read_only;
			claim->force = params->force;
			pst_list_append(&device->claims, &claim->link);
		}
	}
	(void)pthread_mutex_unlock(&lock);
	if (ret)
		free(claim);
	else
		*out = claim;
	return ret;
}

void pst_claim_release(struct pst_claim *claim)
{
	if (!claim)
		return;
	(void)pthread_mutex_lock(&lock);
	pst_list_remove(&claim->link);
	drop_if_unclaimed(claim->device);
	(void)pthread_mutex_unlock(&lock);
	free(claim);
}
