/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base.h"
#include "exports.h"
#include "log.h"

struct pst_failure {
	struct pst_failure *next;
	struct pst_export *exp;
	struct pst_error why;
};

int pst_exports_init(struct pst_exports *exports, const struct pst_serve_config *config,
		     struct pst_error *err)
{
	size_t i;

	memset(exports, 0, sizeof(*exports));
	exports->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (exports->event_fd < 0)
		return pst_error_set(err, -errno,
				     "serve has no descriptor for events: %s; raise ulimit -n",
				     pst_errname(errno));
	exports->items = calloc(config->nr_exports, sizeof(*exports->items));
	if (!exports->items) {
		close(exports->event_fd);
		return pst_error_set(err, -ENOMEM, "serve has no memory for %zu exports: free some",
				     config->nr_exports);
	}
	exports->count = config->nr_exports;
	for (i = 0; i < exports->count; i++)
		exports->items[i].config = &config->exports[i];
	pthread_mutex_init(&exports->lock, NULL);
	pthread_cond_init(&exports->released, NULL);
	return 0;
}

void pst_exports_finish(struct pst_exports *exports)
{
	size_t i;

	for (i = 0; i < exports->count; i++)
		pst_blk_close(exports->items[i].blk);
	while (exports->failures) {
		struct pst_failure *failure = exports->failures;

		exports->failures = failure->next;
		free(failure);
	}
	pthread_cond_destroy(&exports->released);
	pthread_mutex_destroy(&exports->lock);
	free(exports->items);
	close(exports->event_fd);
}

int pst_exports_open(struct pst_exports *exports, struct pst_error *err)
{
	size_t i;
	int ret;

	for (i = 0; i < exports->count; i++) {
		struct pst_served *item = &exports->items[i];

		ret = pst_blk_open(item->config->source, &item->config->open, &item->blk, err);
		if (ret)
			return ret;
	}
	return 0;
}

int pst_exports_create(struct pst_exports *exports, struct pst_server *server,
		       struct pst_error *err)
{
	size_t i;
	int ret;

	for (i = 0; i < exports->count; i++) {
		struct pst_served *item = &exports->items[i];
		struct pst_export *exp;

		ret = pst_export_create(server, &item->config->params, item->blk, &exp, err);
		if (ret)
			return ret;
		pthread_mutex_lock(&exports->lock);
		item->exp = exp;
		pthread_mutex_unlock(&exports->lock);
	}
	return 0;
}

bool pst_exports_acquire(struct pst_exports *exports, struct pst_served *item)
{
	bool got;

	pthread_mutex_lock(&exports->lock);
	while (item->busy && !item->ending)
		pthread_cond_wait(&exports->released, &exports->lock);
	got = item->exp && !item->ending;
	if (got)
		item->busy = true;
	pthread_mutex_unlock(&exports->lock);
	return got;
}

void pst_exports_release(struct pst_exports *exports, struct pst_served *item)
{
	pthread_mutex_lock(&exports->lock);
	item->busy = false;
	item->ending = false;
	pthread_cond_broadcast(&exports->released);
	pthread_mutex_unlock(&exports->lock);
}

void pst_exports_wait(struct pst_exports *exports, struct pst_served *item)
{
	pthread_mutex_lock(&exports->lock);
	while (item->busy)
		pthread_cond_wait(&exports->released, &exports->lock);
	pthread_mutex_unlock(&exports->lock);
}

struct pst_served *pst_exports_find(struct pst_exports *exports, const char *name)
{
	size_t i;

	for (i = 0; i < exports->count; i++) {
		if (strcmp(exports->items[i].config->params.name, name) == 0)
			return &exports->items[i];
	}
	return NULL;
}

const char *pst_exports_state(struct pst_exports *exports, const struct pst_served *item)
{
	const char *state;

	pthread_mutex_lock(&exports->lock);
	state = item->failed ? "failed" : item->ready ? "ready" : "starting";
	pthread_mutex_unlock(&exports->lock);
	return state;
}

static void print_done(const struct pst_export_status *last)
{
	const struct pst_blk_stats *s = &last->stats;

	pst_daemon_print("done name=%s reads=%" PRIu64 " writes=%" PRIu64 " flushes=%" PRIu64
			 " discards=%" PRIu64 " fixed=%" PRIu64 " unfixed=%" PRIu64
			 " gathered=%" PRIu64 " refused=%" PRIu64 " errors=%" PRIu64,
			 last->name, s->reads, s->writes, s->flushes, s->discards, s->fixed,
			 s->unfixed, s->gathered, s->refused, s->errors);
}

int pst_exports_remove(struct pst_exports *exports, struct pst_served *item,
		       enum pst_export_end how, struct pst_error *err)
{
	struct pst_export_status last = {0};
	struct pst_export *exp = item->exp;
	int ret;

	pthread_mutex_lock(&exports->lock);
	item->ending = true;
	pthread_cond_broadcast(&exports->released);
	pthread_mutex_unlock(&exports->lock);

	ret = pst_export_remove(exp, how, &last, err);
	print_done(&last);
	pst_blk_close(item->blk);

	pthread_mutex_lock(&exports->lock);
	item->exp = NULL;
	item->blk = NULL;
	pthread_mutex_unlock(&exports->lock);
	pst_exports_release(exports, item);
	return ret;
}

bool pst_exports_take_failure(struct pst_exports *exports, struct pst_error *why, bool *started)
{
	struct pst_failure **last, *failure;
	uint64_t events;
	size_t i;

	/* Before looking, so that what comes meanwhile wakes us again. */
	(void)!read(exports->event_fd, &events, sizeof(events));

	pthread_mutex_lock(&exports->lock);
	for (last = &exports->failures; *last && (*last)->next; last = &(*last)->next)
		;
	failure = *last;
	*last = NULL;
	for (i = 0; failure && i < exports->count; i++) {
		if (exports->items[i].exp == failure->exp) {
			*started = exports->items[i].ready;
			exports->items[i].failed = true;
			break;
		}
	}
	pthread_mutex_unlock(&exports->lock);
	if (!failure)
		return false;

	/* Already removed: nothing depends on it any more. */
	if (i == exports->count)
		*started = true;
	*why = failure->why;
	free(failure);
	return true;
}

void pst_exports_on_ready(void *ctx, struct pst_export *exp, const struct pst_export_status *status)
{
	struct pst_exports *exports = ctx;
	struct pst_served *item = pst_exports_find(exports, status->name);
	bool again;

	(void)exp;
	if (!item)
		return;
	pthread_mutex_lock(&exports->lock);
	again = item->ready;
	item->ready = true;
	pthread_mutex_unlock(&exports->lock);
	if (again)
		return;
	pst_daemon_print("ready name=%s device=%s transport=%s size=%" PRIu64
			 " queues=%u umem=%" PRIu64 " fixed=%s packed=%s",
			 status->name, status->device, status->transport, status->size,
			 status->queues, status->umem, status->fixed ? "yes" : "no",
			 status->packed ? "yes" : "no");
}

void pst_exports_on_failed(void *ctx, struct pst_export *exp, const struct pst_error *why)
{
	struct pst_exports *exports = ctx;
	struct pst_failure *failure = calloc(1, sizeof(*failure));
	uint64_t one = 1;

	if (!failure) {
		pst_log(PST_LOG_ERROR, NULL, "%s", why->text);
		return;
	}
	failure->exp = exp;
	failure->why = *why;
	pthread_mutex_lock(&exports->lock);
	failure->next = exports->failures;
	exports->failures = failure;
	pthread_mutex_unlock(&exports->lock);
	(void)!write(exports->event_fd, &one, sizeof(one));
}
