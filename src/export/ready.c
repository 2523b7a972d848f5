/* SPDX-License-Identifier: MIT */
/* When an export may be called ready, and when it has failed. On the control thread. */
#include <errno.h>
#include <string.h>

#include "hostdev.h"
#include "server.h"

/* How long after attaching a block device may take to appear. */
#define APPEAR_NS 10000000000U

static void settled(struct pst_msg *msg)
{
	(void)pst_ready_check(pst_container_of(msg, struct pst_export, settled_msg));
}

static void attached(struct pst_msg *msg)
{
	struct pst_export *exp = pst_container_of(msg, struct pst_export, attached_msg);

	if (exp->attach_error.code) {
		pst_export_fail(exp, &exp->attach_error);
		return;
	}
	exp->attached = true;
	exp->attached_ns = pst_now_ns();
	(void)pst_ready_check(exp);
}

static void failed(struct pst_msg *msg)
{
	struct pst_export *exp = pst_container_of(msg, struct pst_export, fail_msg);
	const struct pst_server_params *params = &exp->server->params;

	if (params->on_failed)
		params->on_failed(params->ctx, exp, &exp->fail_error);
}

void pst_ready_init(struct pst_export *exp)
{
	exp->settled_msg.run = settled;
	exp->attached_msg.run = attached;
	exp->fail_msg.run = failed;
}

void pst_export_fail(struct pst_export *exp, const struct pst_error *why)
{
	if (__atomic_exchange_n(&exp->failed, true, __ATOMIC_ACQ_REL))
		return;
	exp->fail_error = *why;
	pst_server_post(exp->server, &exp->fail_msg);
}

bool pst_ready_check(struct pst_export *exp)
{
	const struct pst_server_params *params = &exp->server->params;
	struct pst_export_status status;
	struct pst_error why = PST_ERROR_INIT;
	char device[sizeof(exp->device)] = "";

	if (exp->ready_said || exp->failed)
		return false;
	/* Without attach there is nothing to wait for. */
	if (exp->params.attach) {
		if (!exp->attached)
			return false;
		if (!__atomic_load_n(&exp->settled_posted, __ATOMIC_ACQUIRE) ||
		    pst_hostdev_find(exp->params.name, device, sizeof(device)) != 0) {
			if (pst_now_ns() - exp->attached_ns < APPEAR_NS)
				return true;
			(void)pst_error_set(
				&why, -ENODEV,
				"%s is attached, but no block device appeared in the host: "
				"see the kernel's log (dmesg)",
				exp->params.name);
			pst_export_fail(exp, &why);
			return false;
		}
	}
	(void)pthread_mutex_lock(&exp->umem_lock);
	memcpy(exp->device, device, sizeof(device));
	(void)pthread_mutex_unlock(&exp->umem_lock);
	exp->ready_said = true;
	pst_export_status(exp, &status);
	if (params->on_ready)
		params->on_ready(params->ctx, exp, &status);
	return false;
}
