/* SPDX-License-Identifier: MIT */
/*
 * The memory behind the bounce region. Registering copies the pages in use from the kernel's memory
 * to ours and deregistering copies back, so nothing may be in flight across either. The kernel
 * refuses before the driver's first mapping, which is why it happens at the first request of a
 * session.
 */
#include <errno.h>
#include <inttypes.h>

#include "server.h"

static int map_bounce(struct pst_export *exp)
{
	int ret = pst_vduse_map(&exp->dev, 0, exp->bounce, &exp->bounce_map);

	if (ret)
		return ret;
	exp->window = exp->bounce_map.addr;
	exp->umem = PST_UMEM_MAPPED;
	return 0;
}

static int register_umem(struct pst_export *exp)
{
	void *addr = pst_pool_addr(exp->pool);
	int ret = pst_vduse_umem_deregister(&exp->dev, addr, exp->bounce);

	if (ret && ret != -ENOENT)
		return ret;
	ret = pst_vduse_umem_register(&exp->dev, addr, exp->bounce);
	if (ret)
		return ret;
	exp->window = addr;
	exp->umem = PST_UMEM_REGISTERED;
	return 0;
}

static void say_refused(struct pst_export *exp, int code)
{
	struct pst_error why = PST_ERROR_INIT;

	if (exp->umem_refused)
		return;
	exp->umem_refused = true;
	(void)pst_error_set(&why, code,
			    "%s: its %" PRIu64
			    " bytes of memory cannot be registered as umem: %s%s",
			    exp->params.name, exp->bounce, pst_errname(code),
			    code == -ENOMEM   ? "; raise RLIMIT_MEMLOCK (ulimit -l unlimited)"
			    : code == -ENOTTY ? "; Linux 6.0 or newer is needed"
					      : "");
	if (exp->params.umem == PST_ON || exp->params.fixed == PST_ON)
		pst_export_fail(exp, &why);
	else
		pst_log(PST_LOG_WARNING, exp->params.name,
			"%s; mapped bounce pages are used, and fixed buffers are not", why.text);
}

int pst_umem_settle(struct pst_export *exp)
{
	int ret = 0;

	(void)pthread_mutex_lock(&exp->umem_lock);
	if (exp->umem == PST_UMEM_UNSETTLED && exp->pool && !exp->umem_refused) {
		ret = register_umem(exp);
		/* EINVAL: the bounce region does not exist yet. Anything else is an answer. */
		if (ret && ret != -EINVAL)
			say_refused(exp, ret);
	}
	/* Refused: the host's requests are answered all the same, or its probe would hang. */
	if (exp->umem == PST_UMEM_UNSETTLED && (!exp->pool || exp->umem_refused))
		ret = map_bounce(exp);
	if (exp->umem != PST_UMEM_UNSETTLED) {
		ret = 0;
		if (!exp->settled_posted) {
			exp->settled_posted = true;
			pst_server_post(exp->server, &exp->settled_msg);
		}
	}
	(void)pthread_mutex_unlock(&exp->umem_lock);
	return ret ? -EAGAIN : 0;
}

void pst_umem_unsettle(struct pst_export *exp)
{
	(void)pthread_mutex_lock(&exp->umem_lock);
	pst_vduse_unmap(&exp->bounce_map);
	exp->window = NULL;
	exp->umem = PST_UMEM_UNSETTLED;
	(void)pthread_mutex_unlock(&exp->umem_lock);
}
