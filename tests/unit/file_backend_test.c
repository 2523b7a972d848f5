/* SPDX-License-Identifier: MIT */
/* A file as a disk, on this machine's kernel and file system. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend_fixture.h"

#define FILE_SIZE ((size_t)16 << 20)

static const struct pst_blk_open_params plain;
static char path[64];
static char source[80];

static void make_file(size_t size)
{
	int fd;

	(void)snprintf(path, sizeof(path), "%s", "/tmp/penstock-file.XXXXXX");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)size), 0);
	close(fd);
	(void)snprintf(source, sizeof(source), "file:%s", path);
}

static int new_file(void **state)
{
	(void)state;
	make_file(FILE_SIZE);
	return 0;
}

static int remove_file(void **state)
{
	(void)state;
	return unlink(path);
}

static int serve_file(void **state)
{
	(void)new_file(state);
	return open_source(source, &plain);
}

static int serve_nothing(void **state)
{
	close_source();
	return remove_file(state);
}

static blkcnt_t blocks(void)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return st.st_blocks;
}

static void data_goes_in_and_out(void **state)
{
	(void)state;
	assert_true(fixture.blk->info.volatile_cache);
	assert_int_equal(fixture.blk->info.size, FILE_SIZE);
	fill_pattern(fixture.memory, 1 << 20, 1);
	assert_int_equal(transfer_at(PST_REQ_WRITE, 4096, 0, 1 << 20, true), 0);
	assert_int_equal(command(PST_REQ_FLUSH, 0, 0, 0), 0);
	assert_int_equal(transfer_at(PST_REQ_READ, 4096, 2 << 20, 1 << 20, false), 0);
	assert_true(is_pattern(fixture.memory + (2 << 20), 1 << 20, 1));
	assert_int_equal(transfer_at(PST_REQ_READ, 0, 0, 4096, true), 0);
	assert_true(is_zero(fixture.memory, 4096));
	assert_int_equal(fixture.queue->stats.fixed + fixture.queue->stats.unfixed, 0);
	assert_int_equal(fixture.queue->stats.gathered, 0);
	assert_int_equal(fixture.queue->stats.flushes, 1);
}

static void it_lies_in_the_file_where_it_was_written(void **state)
{
	int fd;

	(void)state;
	fill_pattern(fixture.memory, 8192, 2);
	assert_int_equal(transfer_at(PST_REQ_WRITE, 1 << 20, 0, 8192, true), 0);
	assert_int_equal(command(PST_REQ_FLUSH, 0, 0, 0), 0);
	fd = open(path, O_RDONLY);
	assert_int_equal(pread(fd, fixture.memory + 8192, 8192, 1 << 20), 8192);
	close(fd);
	assert_true(is_pattern(fixture.memory + 8192, 8192, 2));
}

/* Cut at places no O_DIRECT takes: such data goes through a slot, and comes out the same. */
static void segments_of_any_alignment(void **state)
{
	unsigned char *m = fixture.memory;
	struct iovec out[] = {{m + 1, 1}, {m + 4099, 2047}, {m + 12288, 2048}};
	struct iovec in[] = {{m + (1 << 20) + 7, 4095}, {m + (2 << 20) + 1, 1}};
	unsigned char joined[4096];

	(void)state;
	fill_pattern(joined, sizeof(joined), 3);
	memcpy(out[0].iov_base, joined, 1);
	memcpy(out[1].iov_base, joined + 1, 2047);
	memcpy(out[2].iov_base, joined + 2048, 2048);
	assert_int_equal(transfer(PST_REQ_WRITE, 8192, out, 3, true), 0);
	assert_int_equal(transfer(PST_REQ_READ, 8192, in, 2, true), 0);
	memcpy(joined, in[0].iov_base, 4095);
	memcpy(joined + 4095, in[1].iov_base, 1);
	assert_true(is_pattern(joined, sizeof(joined), 3));

	/* One segment, from an odd address. */
	fill_pattern(m + 3, 8192, 4);
	assert_int_equal(transfer_at(PST_REQ_WRITE, 0, 3, 8192, true), 0);
	assert_int_equal(transfer_at(PST_REQ_READ, 0, (1 << 20) + 9, 8192, false), 0);
	assert_true(is_pattern(m + (1 << 20) + 9, 8192, 4));
}

static void aligned_segments_are_not_gathered(void **state)
{
	unsigned char *m = fixture.memory;
	struct iovec segs[] = {{m + 8192, 4096}, {m, 4096}, {m + (1 << 20), 8192}};

	(void)state;
	fill_pattern(m, 2 << 20, 5);
	assert_int_equal(transfer(PST_REQ_WRITE, 0, segs, 3, true), 0);
	assert_int_equal(transfer_at(PST_REQ_READ, 0, 4 << 20, 16384, true), 0);
	assert_memory_equal(m + (4 << 20), m + 8192, 4096);
	assert_memory_equal(m + (4 << 20) + 4096, m, 4096);
	assert_memory_equal(m + (4 << 20) + 8192, m + (1 << 20), 8192);
	assert_int_equal(fixture.queue->stats.gathered, 0);
}

static void long_requests_are_split(void **state)
{
	struct iovec odd[2];

	(void)state;
	fill_pattern(fixture.memory, MEMORY_SIZE, 6);
	assert_int_equal(transfer_at(PST_REQ_WRITE, 512 * 9, 0, MEMORY_SIZE, true), 0);
	memset(fixture.memory, 0, MEMORY_SIZE);
	odd[0] = (struct iovec){fixture.memory, 3 << 20 | 777};
	odd[1] = (struct iovec){fixture.memory + odd[0].iov_len, MEMORY_SIZE - odd[0].iov_len};
	assert_int_equal(transfer(PST_REQ_READ, 512 * 9, odd, 2, true), 0);
	assert_true(is_pattern(fixture.memory, MEMORY_SIZE, 6));
}

/* More than there are slots: those without wait, and every one completes. */
static void many_that_must_be_gathered(void **state)
{
	enum { COUNT = 48 };
	static struct pst_req reqs[COUNT];
	static struct iovec segs[COUNT][2];
	size_t length = 8192, i;

	(void)state;
	fixture.nr_done = 0;
	fixture.status = 0;
	for (i = 0; i < COUNT; i++) {
		unsigned char *at = fixture.memory + i * 16384 + 1;

		fill_pattern(at, length, (unsigned int)i);
		segs[i][0] = (struct iovec){at, 1001};
		segs[i][1] = (struct iovec){at + 1001, length - 1001};
		fill_request(&reqs[i], PST_REQ_WRITE, i * length, segs[i], 2, true);
		pst_blk_submit(fixture.queue, &reqs[i]);
	}
	wait_for(COUNT);
	assert_int_equal(fixture.status, 0);
	for (i = 0; i < COUNT; i++) {
		assert_int_equal(transfer_at(PST_REQ_READ, i * length, 4 << 20, length, true), 0);
		assert_true(is_pattern(fixture.memory + (4 << 20), length, (unsigned int)i));
	}
}

static void write_all(unsigned int seed)
{
	fill_pattern(fixture.memory, MEMORY_SIZE, seed);
	assert_int_equal(transfer_at(PST_REQ_WRITE, 0, 0, MEMORY_SIZE, true), 0);
	assert_int_equal(transfer_at(PST_REQ_WRITE, MEMORY_SIZE, 0, MEMORY_SIZE, true), 0);
	assert_int_equal(command(PST_REQ_FLUSH, 0, 0, 0), 0);
}

static void a_file_cut_below_us_is_an_error_for_ever(void **state)
{
	struct iovec odd[] = {{fixture.memory + 1, 511}, {fixture.memory + 1024, 7681}};

	(void)state;
	write_all(7);
	assert_int_equal(truncate(path, (4 << 20) + 1000), 0);
	assert_int_equal(transfer_at(PST_REQ_READ, 8 << 20, 0, 4096, true), -EIO);
	assert_int_equal(transfer(PST_REQ_READ, 8 << 20, odd, 2, true), -EIO);
	/* Half of it is still there: not half an answer. */
	assert_int_equal(transfer_at(PST_REQ_READ, (4 << 20) - 4096, 0, 8192, true), -EIO);
	assert_int_equal(transfer_at(PST_REQ_READ, 4 << 20, 0, 4096, true), -EIO);
	assert_int_equal(transfer_at(PST_REQ_READ, 3 << 20, 0, 4096, true), 0);
	assert_int_equal(transfer_at(PST_REQ_WRITE, 8 << 20, 0, 4096, true), -EIO);
	/* Long again, but not with the same data. */
	assert_int_equal(truncate(path, FILE_SIZE), 0);
	assert_int_equal(transfer_at(PST_REQ_READ, 8 << 20, 0, 4096, true), -EIO);
	assert_int_equal(command(PST_REQ_WRITE_ZEROES, 0, 0, 4096), -EIO);
	assert_int_equal(fixture.queue->stats.errors, 7);
}

static void a_write_does_not_mend_a_file_that_was_cut(void **state)
{
	struct stat st;

	(void)state;
	write_all(8);
	assert_int_equal(truncate(path, 1 << 20), 0);
	assert_int_equal(transfer_at(PST_REQ_WRITE, FILE_SIZE - 4096, 0, 4096, true), -EIO);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, 1 << 20);
}

/* Many that wait for a slot when the file turns out to be cut: all are told. */
static void waiting_requests_end_when_the_file_is_cut(void **state)
{
	enum { COUNT = 40 };
	static struct pst_req reqs[COUNT];
	static struct iovec segs[COUNT][2];
	size_t i;

	(void)state;
	fixture.nr_done = 0;
	fixture.status = 0;
	for (i = 0; i < COUNT; i++) {
		segs[i][0] = (struct iovec){fixture.memory + i * 8192 + 1, 11};
		segs[i][1] = (struct iovec){fixture.memory + i * 8192 + 100, 4085};
		fill_request(&reqs[i], PST_REQ_WRITE, i * 4096, segs[i], 2, true);
		pst_blk_submit(fixture.queue, &reqs[i]);
		if (i == 20)
			assert_int_equal(truncate(path, 0), 0);
	}
	wait_for(COUNT);
	assert_int_equal(fixture.status, -EIO);
}

static void discards_make_holes(void **state)
{
	blkcnt_t before;

	(void)state;
	assert_true(fixture.blk->info.max_discard >= 1 << 20);
	write_all(9);
	before = blocks();
	assert_true(before >= (blkcnt_t)(FILE_SIZE / 512));
	assert_int_equal(command(PST_REQ_DISCARD, 0, 1 << 20, 4 << 20), 0);
	assert_true(blocks() <= before - (4 << 20) / 512);
	memset(fixture.memory, 1, 4 << 20);
	assert_int_equal(transfer_at(PST_REQ_READ, 1 << 20, 0, 4 << 20, true), 0);
	assert_true(is_zero(fixture.memory, 4 << 20));
	assert_int_equal(transfer_at(PST_REQ_READ, 0, 0, 1 << 20, true), 0);
	assert_true(is_pattern(fixture.memory, 1 << 20, 9));
	assert_int_equal(fixture.queue->stats.discards, 1);
}

static void zeroes_read_back(void **state)
{
	blkcnt_t before;

	(void)state;
	write_all(10);
	before = blocks();
	assert_int_equal(command(PST_REQ_WRITE_ZEROES, 0, 512, 2 << 20), 0);
	assert_true(blocks() >= before);
	assert_int_equal(command(PST_REQ_WRITE_ZEROES, PST_REQ_UNMAP, 8 << 20, 2 << 20), 0);
	assert_true(blocks() <= before - (2 << 20) / 512);
	assert_int_equal(transfer_at(PST_REQ_READ, 0, 0, (2 << 20) + 1024, true), 0);
	assert_true(is_pattern(fixture.memory, 512, 10));
	assert_true(is_zero(fixture.memory + 512, 2 << 20));
	assert_false(is_zero(fixture.memory + 512 + (2 << 20), 512));
	memset(fixture.memory, 1, 2 << 20);
	assert_int_equal(transfer_at(PST_REQ_READ, 8 << 20, 0, 2 << 20, true), 0);
	assert_true(is_zero(fixture.memory, 2 << 20));
}

static void read_only_refuses_and_writes_nothing(void **state)
{
	struct pst_blk_open_params params = {.read_only = true};

	(void)state;
	assert_int_equal(chmod(path, 0400), 0);
	assert_int_equal(open_source(source, &params), 0);
	assert_int_equal(transfer_at(PST_REQ_WRITE, 0, 0, 4096, true), -EROFS);
	assert_int_equal(command(PST_REQ_DISCARD, 0, 0, 4096), -EROFS);
	assert_int_equal(command(PST_REQ_WRITE_ZEROES, 0, 0, 4096), -EROFS);
	assert_int_equal(transfer_at(PST_REQ_READ, 0, 0, 4096, true), 0);
	assert_int_equal(command(PST_REQ_FLUSH, 0, 0, 0), 0);
	assert_int_equal(fixture.queue->stats.refused, 3);
	assert_int_equal(blocks(), 0);
	close_source();
}

static void slices_lie_side_by_side_and_do_not_overlap(void **state)
{
	struct pst_blk_open_params first = {.size = 4 << 20};
	struct pst_blk_open_params second = {.offset = 4 << 20, .size = 4 << 20};
	struct pst_blk_open_params across = {.offset = 3 << 20, .size = 2 << 20};
	struct pst_blk *other;

	(void)state;
	assert_int_equal(open_source(source, &first), 0);
	assert_int_equal(pst_blk_open(source, &across, &other, &fixture.err), -EBUSY);
	assert_non_null(strstr(fixture.err.text, "are served already"));
	across.read_only = true;
	assert_int_equal(pst_blk_open(source, &across, &other, &fixture.err), -EBUSY);
	assert_int_equal(pst_blk_open(source, &second, &other, &fixture.err), 0);
	fill_pattern(fixture.memory, 4 << 20, 11);
	assert_int_equal(transfer_at(PST_REQ_WRITE, 0, 0, 4 << 20, true), 0);
	close_source();

	fixture.blk = other;
	pst_blk_close(other);
	assert_int_equal(open_source(source, &second), 0);
	assert_int_equal(transfer_at(PST_REQ_READ, 0, 0, 4 << 20, true), 0);
	assert_true(is_zero(fixture.memory, 4 << 20));
	close_source();
}

static void readers_share_a_file(void **state)
{
	struct pst_blk_open_params params = {.read_only = true};
	struct pst_blk *other;

	(void)state;
	assert_int_equal(open_source(source, &params), 0);
	assert_int_equal(pst_blk_open(source, &params, &other, &fixture.err), 0);
	pst_blk_close(other);
	close_source();
}

static void what_another_has_locked_is_refused_without_force(void **state)
{
	struct pst_blk_open_params force = {.force = true};
	struct pst_blk_open_params behind = {.offset = 8192};
	struct flock range = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 4096, .l_len = 1};
	int fd = open(path, O_RDWR | O_CLOEXEC);

	(void)state;
	/* A lock of an open file, which is not ours just because it is of this process. */
	assert_int_equal(fcntl(fd, F_OFD_SETLK, &range), 0);
	assert_int_equal(open_source(source, &plain), -EBUSY);
	assert_non_null(strstr(fixture.err.text, path));
	assert_non_null(strstr(fixture.err.text, "force"));
	assert_int_equal(open_source(source, &behind), 0);
	close_source();
	assert_int_equal(open_source(source, &force), 0);
	close_source();
	close(fd);
	assert_int_equal(open_source(source, &plain), 0);
	close_source();
}

static void a_rest_of_a_block_is_not_served(void **state)
{
	(void)state;
	assert_int_equal(truncate(path, 4096 * 3 + 100), 0);
	assert_int_equal(open_source(source, &plain), 0);
	assert_int_equal(fixture.blk->info.size, 4096 * 3);
	assert_int_equal(transfer_at(PST_REQ_READ, 4096 * 2, 0, 4096, true), 0);
	close_source();
	assert_int_equal(truncate(path, 100), 0);
	assert_int_equal(open_source(source, &plain), -EINVAL);
	assert_non_null(strstr(fixture.err.text, "give it a size"));
}

/* What it takes is tried out, and not on the data. */
static void opening_leaves_the_data_as_it_is(void **state)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	struct stat st;

	(void)state;
	fill_pattern(fixture.memory, MEMORY_SIZE, 12);
	assert_int_equal(pwrite(fd, fixture.memory, MEMORY_SIZE, 0), MEMORY_SIZE);
	assert_int_equal(ftruncate(fd, MEMORY_SIZE), 0);
	assert_int_equal(open_source(source, &plain), 0);
	close_source();
	memset(fixture.memory, 0, MEMORY_SIZE);
	assert_int_equal(pread(fd, fixture.memory, MEMORY_SIZE, 0), MEMORY_SIZE);
	assert_true(is_pattern(fixture.memory, MEMORY_SIZE, 12));
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_size, MEMORY_SIZE);
	close(fd);
}

static void what_is_no_file_is_refused(void **state)
{
	(void)state;
	assert_int_equal(open_source("file:/tmp/penstock/no/such", &plain), -ENOENT);
	assert_non_null(strstr(fixture.err.text, "make it first"));
	assert_int_equal(open_source("file:/tmp", &plain), -EISDIR);
	assert_non_null(strstr(fixture.err.text, "is a directory"));
	assert_int_equal(open_source("file:/dev/null", &plain), -ENOTBLK);
	assert_non_null(strstr(fixture.err.text, "character device"));
	assert_int_equal(open_source("file:", &plain), -EINVAL);
}

/* tmpfs: no O_DIRECT on older kernels, and none of ext4's ways on newer ones. */
static void a_file_in_memory_works_the_same(void **state)
{
	(void)state;
	(void)snprintf(path, sizeof(path), "%s", "/dev/shm/penstock-file.XXXXXX");
	close(mkstemp(path));
	assert_int_equal(truncate(path, FILE_SIZE), 0);
	(void)snprintf(source, sizeof(source), "file:%s", path);
	assert_int_equal(open_source(source, &plain), 0);
	segments_of_any_alignment(state);
	zeroes_read_back(state);
	a_file_cut_below_us_is_an_error_for_ever(state);
	close_source();
	(void)unlink(path);
}

#define ON_SERVED(test) cmocka_unit_test_setup_teardown(test, serve_file, serve_nothing)
#define ON_FILE(test) cmocka_unit_test_setup_teardown(test, new_file, remove_file)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ON_SERVED(data_goes_in_and_out),
		ON_SERVED(it_lies_in_the_file_where_it_was_written),
		ON_SERVED(segments_of_any_alignment),
		ON_SERVED(aligned_segments_are_not_gathered),
		ON_SERVED(long_requests_are_split),
		ON_SERVED(many_that_must_be_gathered),
		ON_SERVED(a_file_cut_below_us_is_an_error_for_ever),
		ON_SERVED(a_write_does_not_mend_a_file_that_was_cut),
		ON_SERVED(waiting_requests_end_when_the_file_is_cut),
		ON_SERVED(discards_make_holes),
		ON_SERVED(zeroes_read_back),
		ON_FILE(read_only_refuses_and_writes_nothing),
		ON_FILE(slices_lie_side_by_side_and_do_not_overlap),
		ON_FILE(readers_share_a_file),
		ON_FILE(what_another_has_locked_is_refused_without_force),
		ON_FILE(a_rest_of_a_block_is_not_served),
		ON_FILE(opening_leaves_the_data_as_it_is),
		cmocka_unit_test(what_is_no_file_is_refused),
		cmocka_unit_test(a_file_in_memory_works_the_same),
	};
	int failed;

	make_ring_or_skip();
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	destroy_ring();
	return failed;
}
