/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include <penstock/mem.h>

static void a_pool_of_normal_pages_can_be_written(void **state)
{
	struct pst_pool *pool;

	(void)state;
	assert_int_equal(pst_pool_create(10000, PST_POOL_PAGES_NORMAL, -1, &pool, NULL), 0);
	assert_int_equal(pst_pool_size(pool), 12288);
	assert_int_equal(pst_pool_page_size(pool), 4096);
	assert_true(pst_pool_fd(pool) >= 0);
	memset(pst_pool_addr(pool), 0x5a, pst_pool_size(pool));
	pst_pool_destroy(pool);
}

static void too_few_hugepages_are_said_with_the_command(void **state)
{
	struct pst_error err = PST_ERROR_INIT;
	struct pst_pool *pool = NULL;

	(void)state;
	assert_int_equal(pst_pool_create((size_t)1 << 45, PST_POOL_PAGES_HUGE, -1, &pool, &err),
			 -ENOMEM);
	assert_null(pool);
	assert_non_null(strstr(err.text, "/proc/sys/vm/nr_hugepages"));
}

static void an_empty_pool_is_refused(void **state)
{
	struct pst_pool *pool;

	(void)state;
	assert_int_equal(pst_pool_create(0, PST_POOL_PAGES_NORMAL, -1, &pool, NULL), -EINVAL);
}

static void adopted_memory_stays_the_applications(void **state)
{
	unsigned char *memory =
		mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct pst_pool *pool;

	(void)state;
	assert_int_equal(pst_pool_adopt(memory, 65536, 4096, &pool, NULL), 0);
	assert_ptr_equal(pst_pool_addr(pool), memory);
	assert_int_equal(pst_pool_fd(pool), -1);
	pst_pool_destroy(pool);
	memory[65535] = 1;
	(void)munmap(memory, 65536);
}

static void misaligned_memory_is_not_adopted(void **state)
{
	unsigned char *memory =
		mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct pst_pool *pool;

	(void)state;
	assert_int_equal(pst_pool_adopt(memory + 512, 8192, 4096, &pool, NULL), -EINVAL);
	assert_int_equal(pst_pool_adopt(memory, 5000, 4096, &pool, NULL), -EINVAL);
	assert_int_equal(pst_pool_adopt(memory, 8192, 3000, &pool, NULL), -EINVAL);
	assert_int_equal(pst_pool_adopt(NULL, 8192, 4096, &pool, NULL), -EINVAL);
	(void)munmap(memory, 65536);
}

static void regions_lie_within_their_pool(void **state)
{
	struct pst_region region;
	struct pst_pool *pool;

	(void)state;
	assert_int_equal(pst_pool_create(65536, PST_POOL_PAGES_NORMAL, -1, &pool, NULL), 0);
	assert_int_equal(pst_pool_region(pool, 4096, 8192, &region), 0);
	assert_ptr_equal(region.addr, (unsigned char *)pst_pool_addr(pool) + 4096);
	assert_int_equal(pst_pool_region(pool, 0, 65536, &region), 0);
	assert_int_equal(pst_pool_region(pool, 4096, 65536, &region), -EINVAL);
	assert_int_equal(pst_pool_region(pool, 65536, 4096, &region), -EINVAL);
	assert_int_equal(pst_pool_region(pool, SIZE_MAX - 4095, 8192, &region), -EINVAL);
	assert_int_equal(pst_pool_region(pool, 100, 4096, &region), -EINVAL);
	assert_int_equal(pst_pool_region(pool, 0, 0, &region), -EINVAL);
	pst_pool_destroy(pool);
}

static void containment_does_not_overflow(void **state)
{
	struct pst_region region = {.addr = (unsigned char *)0x10000, .length = 0x1000};

	(void)state;
	assert_true(pst_region_contains(&region, (void *)0x10000, 0x1000));
	assert_true(pst_region_contains(&region, (void *)0x10fff, 1));
	assert_false(pst_region_contains(&region, (void *)0x10fff, 2));
	assert_false(pst_region_contains(&region, (void *)0xffff, 1));
	assert_false(pst_region_contains(&region, (void *)0x10001, SIZE_MAX));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pool_of_normal_pages_can_be_written),
		cmocka_unit_test(too_few_hugepages_are_said_with_the_command),
		cmocka_unit_test(an_empty_pool_is_refused),
		cmocka_unit_test(adopted_memory_stays_the_applications),
		cmocka_unit_test(misaligned_memory_is_not_adopted),
		cmocka_unit_test(regions_lie_within_their_pool),
		cmocka_unit_test(containment_does_not_overflow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
