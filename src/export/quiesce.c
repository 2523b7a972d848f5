/* SPDX-License-Identifier: MIT */
/* Bringing all queues of an export to rest from outside their workers. */
#include <errno.h>

#include "server.h"

/* One queue's order to come to rest, and the answer. */
struct rest {
	struct pst_msg msg;
	struct pst_drain drain;
	struct pst_equeue *q;
	sem_t *done;
};

static void at_rest(struct pst_drain *drain)
{
	struct rest *rest = pst_container_of(drain, struct rest, drain);

	(void)sem_post(rest->done);
}

static void begin_rest(struct pst_msg *msg)
{
	struct rest *rest = pst_container_of(msg, struct rest, msg);

	pst_equeue_drain(rest->q, &rest->drain);
}

void pst_quiesce(struct pst_export *exp, enum pst_queue_state then)
{
	struct rest rests[PST_QUEUES_MAX];
	sem_t done;
	uint32_t i;

	(void)sem_init(&done, 0, 0);
	for (i = 0; i < exp->nr_queues; i++) {
		rests[i] = (struct rest){
			.msg.run = begin_rest,
			.drain = {.then = then, .done = at_rest},
			.q = &exp->queues[i],
			.done = &done,
		};
		pst_mailbox_post(&exp->queues[i].worker->mailbox, &rests[i].msg);
	}
	for (i = 0; i < exp->nr_queues; i++) {
		while (sem_wait(&done) != 0)
			;
	}
	(void)sem_destroy(&done);
}

static int resume(void *arg)
{
	pst_equeue_resume(arg);
	return 0;
}

void pst_quiesce_end(struct pst_export *exp)
{
	uint32_t i;

	for (i = 0; i < exp->nr_queues; i++)
		(void)pst_worker_call(exp->queues[i].worker, resume, &exp->queues[i]);
}

/* Registers the same memory anew; nothing is in flight. */
static int cycle(struct pst_export *exp, struct pst_error *err)
{
	void *addr = exp->pool ? pst_pool_addr(exp->pool) : NULL;
	int ret;

	if (exp->session != PST_SESSION_RUNNING || exp->umem != PST_UMEM_REGISTERED)
		return pst_error_set(
			err, -ENOENT,
			"%s has no user memory registered: it is not in use yet, or runs "
			"with umem=off",
			exp->params.name);
	ret = pst_vduse_umem_deregister(&exp->dev, addr, exp->bounce);
	if (ret)
		return pst_error_set(err, ret, "%s: user memory cannot be deregistered: %s",
				     exp->params.name, pst_errname(ret));
	ret = pst_vduse_umem_register(&exp->dev, addr, exp->bounce);
	if (ret) {
		/* The next request settles on what can be had then. */
		exp->umem = PST_UMEM_UNSETTLED;
		return pst_error_set(err, ret, "%s: user memory cannot be registered again: %s",
				     exp->params.name, pst_errname(ret));
	}
	return 0;
}

int pst_export_umem_cycle(struct pst_export *exp, struct pst_error *err)
{
	int ret;

	(void)pthread_mutex_lock(&exp->session_lock);
	pst_quiesce(exp, PST_QUEUE_PAUSED);
	(void)pthread_mutex_lock(&exp->umem_lock);
	ret = cycle(exp, err);
	(void)pthread_mutex_unlock(&exp->umem_lock);
	pst_quiesce_end(exp);
	(void)pthread_mutex_unlock(&exp->session_lock);
	return ret;
}
