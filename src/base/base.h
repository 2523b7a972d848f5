/* SPDX-License-Identifier: MIT */
/* Small things every layer uses: scope cleanup, intrusive list, arithmetic. */
#ifndef PST_BASE_H
#define PST_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

#define PST_ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#define pst_container_of(ptr, type, member) ((type *)(void *)((char *)(ptr)-offsetof(type, member)))

#define pst_likely(x) __builtin_expect(!!(x), 1)
#define pst_unlikely(x) __builtin_expect(!!(x), 0)

/* Variables that release what they hold when they go out of scope. */
static inline void pst_cleanup_free(void *p)
{
	free(*(void **)p);
}
static inline void pst_cleanup_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}
#define PST_AUTO_FREE __attribute__((cleanup(pst_cleanup_free)))
#define PST_AUTO_CLOSE __attribute__((cleanup(pst_cleanup_close)))

/* Takes a descriptor or pointer out of such a variable. */
static inline int pst_steal_fd(int *fd)
{
	int taken = *fd;

	*fd = -1;
	return taken;
}

/* Doubly linked list with a head; an entry is in one list or points to itself. */
struct pst_list {
	struct pst_list *next, *prev;
};

#define PST_LIST_INIT(l)                                                                           \
	{                                                                                          \
		&(l), &(l)                                                                         \
	}

static inline void pst_list_init(struct pst_list *l)
{
	l->next = l->prev = l;
}
static inline bool pst_list_empty(const struct pst_list *l)
{
	return l->next == l;
}
static inline void pst_list_append(struct pst_list *head, struct pst_list *entry)
{
	entry->prev = head->prev;
	entry->next = head;
	head->prev->next = entry;
	head->prev = entry;
}
static inline void pst_list_remove(struct pst_list *entry)
{
	entry->prev->next = entry->next;
	entry->next->prev = entry->prev;
	pst_list_init(entry);
}
#define pst_list_for_each(pos, head)                                                               \
	for ((pos) = (head)->next; (pos) != (head); (pos) = (pos)->next)
#define pst_list_for_each_safe(pos, tmp, head)                                                     \
	for ((pos) = (head)->next, (tmp) = (pos)->next; (pos) != (head);                           \
	     (pos) = (tmp), (tmp) = (pos)->next)

static inline bool pst_is_power_of_two(uint64_t n)
{
	return n != 0 && (n & (n - 1)) == 0;
}
/* align is a power of two */
static inline uint64_t pst_round_down(uint64_t n, uint64_t align)
{
	return n & ~(align - 1);
}
static inline uint64_t pst_round_up(uint64_t n, uint64_t align)
{
	return (n + align - 1) & ~(align - 1);
}
static inline bool pst_is_aligned(uint64_t n, uint64_t align)
{
	return (n & (align - 1)) == 0;
}
static inline uint64_t pst_min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* CLOCK_MONOTONIC in nanoseconds. */
uint64_t pst_now_ns(void);

/*
 * Reads the first line of a small file (sysfs) into buf, without line feed and trailing blanks.
 * Returns its length or a negative errno.
 */
int pst_read_line(const char *path, char *buf, size_t size);

/* The same as a number; returns 0 or a negative errno, -EINVAL when it is not one. */
int pst_read_u64(const char *path, uint64_t *value);

/* The kernel's name of a block or character device; returns 0, -ENOENT, -ENAMETOOLONG. */
int pst_sysfs_name(bool block, dev_t dev, char *name, size_t size);

/* Writes a string to a small file (sysfs); returns 0 or a negative errno. */
int pst_write_file(const char *path, const char *text);

/* strerror that is safe in every thread: glibc's description of -code. */
const char *pst_errname(int code);

#endif
