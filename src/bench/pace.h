/* SPDX-License-Identifier: MIT */
/*
 * An open loop: I/O number k of thread i of n is meant to start at (k * n + i) / rate, whatever the
 * device does. Latency counts from that moment, so a stall is charged to every I/O it delays.
 */
#ifndef PST_BENCH_PACE_H
#define PST_BENCH_PACE_H

#include <stdbool.h>
#include <stdint.h>

struct pst_pace {
	uint64_t origin; /* ns */
	uint64_t number; /* of the next I/O, over all threads */
	uint64_t step;	 /* threads */
	uint64_t rate;	 /* per second over all threads; 0: no pace */
	uint64_t next;	 /* ns: intended start of the next I/O */
};

static inline void pst_pace_settle(struct pst_pace *pace)
{
	/* Computed from the number, not added up: no error accumulates. */
	pace->next = pace->origin +
		     (uint64_t)((unsigned __int128)pace->number * 1000000000U / pace->rate);
}

static inline void pst_pace_init(struct pst_pace *pace, uint64_t rate, uint32_t thread,
				 uint32_t threads, uint64_t origin)
{
	pace->origin = origin;
	pace->number = thread;
	pace->step = threads;
	pace->rate = rate;
	pace->next = 0;
	if (rate)
		pst_pace_settle(pace);
}

/* Takes the next intended start if it has come; false when it is too early. */
static inline bool pst_pace_take(struct pst_pace *pace, uint64_t now, uint64_t *start)
{
	if (now < pace->next)
		return false;
	*start = pace->next;
	pace->number += pace->step;
	pst_pace_settle(pace);
	return true;
}

#endif
