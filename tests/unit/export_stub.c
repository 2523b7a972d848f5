/* SPDX-License-Identifier: MIT */
/*
 * A server without a kernel, for tests of the daemon. The first word of an export's name says how
 * it behaves: "refused" cannot be created, "failing" never becomes ready, "late" fails after it was
 * ready, "used" is in use, "stuck" cannot be removed, "slow" takes a while to remove, "quiet" never
 * becomes ready; any other becomes ready, twice.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <penstock/export.h>

#include "hostdev.h"

struct pst_server {
	struct pst_server_params params;
};

struct pst_export {
	struct pst_server *server;
	struct pst_export_params params;
	struct pst_blk *blk;
	pthread_t control;
};

static bool is(const char *name, const char *behaviour)
{
	return strncmp(name, behaviour, strlen(behaviour)) == 0;
}

int pst_blk_open(const char *source, const struct pst_blk_open_params *params, struct pst_blk **blk,
		 struct pst_error *err)
{
	(void)params;
	if (strcmp(source, "nvme:/dev/none") == 0)
		return pst_error_set(err, -ENOENT, "/dev/none does not exist: see nvme list");
	*blk = calloc(1, sizeof(**blk));
	return 0;
}

void pst_blk_close(struct pst_blk *blk)
{
	free(blk);
}

int pst_server_create(const struct pst_server_params *params, struct pst_server **server,
		      struct pst_error *err)
{
	(void)err;
	*server = calloc(1, sizeof(**server));
	(*server)->params = *params;
	return 0;
}

void pst_server_destroy(struct pst_server *server)
{
	free(server);
}

/* What the control thread reports about an export. */
static void *report(void *arg)
{
	struct pst_export *exp = arg;
	const struct pst_server_params *params = &exp->server->params;
	const char *name = exp->params.name;
	struct pst_export_status status;
	struct pst_error why = PST_ERROR_INIT;

	pst_export_status(exp, &status);
	if (!is(name, "failing") && !is(name, "quiet")) {
		params->on_ready(params->ctx, exp, &status);
		params->on_ready(params->ctx, exp, &status);
	}
	if (is(name, "failing") || is(name, "late")) {
		pst_error_set(&why, -ENODEV, "%s fails: do without", name);
		params->on_failed(params->ctx, exp, &why);
	}
	return NULL;
}

int pst_export_create(struct pst_server *server, const struct pst_export_params *params,
		      struct pst_blk *blk, struct pst_export **out, struct pst_error *err)
{
	struct pst_export *exp;

	if (is(params->name, "refused"))
		return pst_error_set(err, -EPERM, "%s is not permitted: be root", params->name);
	exp = calloc(1, sizeof(*exp));
	exp->server = server;
	exp->params = *params;
	exp->blk = blk;
	*out = exp;
	return -pthread_create(&exp->control, NULL, report, exp);
}

int pst_export_remove(struct pst_export *exp, enum pst_export_end how,
		      struct pst_export_status *last, struct pst_error *err)
{
	const char *name = exp->params.name;
	int ret = 0;

	pthread_join(exp->control, NULL);
	pst_export_status(exp, last);
	if (is(name, "used") && how == PST_EXPORT_END_IF_UNUSED)
		ret = pst_error_set(err, -EBUSY, "%s stays attached: unmount it", name);
	if (is(name, "stuck"))
		ret = pst_error_set(err, -EIO, "%s cannot be removed: reboot", name);
	if (is(name, "slow"))
		usleep(500000);
	free(exp);
	return ret;
}

void pst_export_status(struct pst_export *exp, struct pst_export_status *status)
{
	*status = (struct pst_export_status){
		.device = "/dev/vda",
		.transport = "vduse",
		.size = 1 << 30,
		.queues = exp->params.queues,
		.umem = exp->params.umem == PST_OFF ? 0 : exp->params.bounce,
		.fixed = exp->params.umem != PST_OFF,
		.packed = exp->params.packed,
		.stats = {.reads = 1,
			  .writes = 2,
			  .flushes = 3,
			  .discards = 4,
			  .fixed = 5,
			  .unfixed = 6,
			  .gathered = 7,
			  .refused = 8,
			  .errors = 9,
			  .bytes_read = 10,
			  .bytes_written = 11},
	};
	(void)snprintf(status->name, sizeof(status->name), "%s", exp->params.name);
}

int pst_export_umem_cycle(struct pst_export *exp, struct pst_error *err)
{
	if (exp->params.umem == PST_OFF)
		return pst_error_set(err, -ENOENT, "%s has no user memory: serve it with umem=on",
				     exp->params.name);
	return 0;
}

int pst_hostdev_find(const char *name, char *device, size_t size)
{
	if (is(name, "quiet"))
		return -ENOENT;
	(void)snprintf(device, size, "/dev/%s", name);
	return 0;
}

bool pst_hostdev_users(const char *device, char *users, size_t size)
{
	(void)snprintf(users, size, "mounted on /mnt");
	return is(device, "/dev/used");
}
