/* SPDX-License-Identifier: MIT */
/* The backends, and what they share. A new one adds a file, a line here and a line in registry.c.
 */
#ifndef PST_BACKEND_H
#define PST_BACKEND_H

#include <penstock/blk.h>

/*
 * Opens what stands behind the colon of a source. `source` is the whole, for messages. Returns 0 or
 * a negative errno with a sentence.
 */
typedef int (*pst_backend_open)(const char *where, const char *source,
				const struct pst_blk_open_params *params, struct pst_blk **blk,
				struct pst_error *err);

struct pst_backend {
	const char *name;
	pst_backend_open open;
};

int pst_file_open(const char *where, const char *source, const struct pst_blk_open_params *params,
		  struct pst_blk **blk, struct pst_error *err);
int pst_mem_open(const char *where, const char *source, const struct pst_blk_open_params *params,
		 struct pst_blk **blk, struct pst_error *err);
int pst_null_open(const char *where, const char *source, const struct pst_blk_open_params *params,
		  struct pst_blk **blk, struct pst_error *err);
int pst_nvme_backend_open(const char *where, const char *source,
			  const struct pst_blk_open_params *params, struct pst_blk **blk,
			  struct pst_error *err);

/*
 * Checks offset= and size= against a source of `total` bytes with blocks of `block` bytes, and
 * stores the size of the slice. Returns 0 or -EINVAL.
 */
int pst_backend_slice(const char *source, const struct pst_blk_open_params *params, uint64_t total,
		      uint32_t block, uint64_t *size, struct pst_error *err);

/* "read", "write zeroes"...: for sentences. */
const char *pst_backend_op_name(uint8_t op);

/* May a failure be logged? Once a second at most; *logged_ns is when the last one was. */
bool pst_backend_log_due(uint64_t *logged_ns);

/* Counters have one writer, but a report may read them from another thread. */
static inline void pst_backend_count(uint64_t *counter)
{
	__atomic_store_n(counter, *counter + 1, __ATOMIC_RELAXED);
}

#endif
