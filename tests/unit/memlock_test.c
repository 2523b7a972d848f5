/* SPDX-License-Identifier: MIT */
/* How much memory exports may pin, and what is said when that is not allowed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "memlock.h"

#define MIB ((uint64_t)1 << 20)

static uint64_t needed(const char *text, uint32_t workers)
{
	struct pst_export_config exp;
	struct pst_serve_config config = {.exports = &exp, .nr_exports = 1};

	assert_int_equal(pst_config_export(text, &exp, NULL), 0);
	return pst_memlock_needed(&config, workers);
}

static void every_ring_counts_the_region_again(void **state)
{
	(void)state;
	assert_true(needed("name=d,source=nvme:x", 1) >= 2 * 64 * MIB);
	assert_true(needed("name=d,source=nvme:x,queues=4", 4) >= 5 * 64 * MIB);
	assert_true(needed("name=d,source=nvme:x,queues=4,nvme-poll=on", 4) >= 9 * 64 * MIB);
	/* Every queue has slots of its own, also on one ring. */
	assert_true(needed("name=d,source=nvme:x,queues=4", 1) >= 2 * 64 * MIB + 4 * 8 * MIB);
	/* Workers without a queue of the export do not have its region. */
	assert_int_equal(needed("name=d,source=nvme:x,queues=2", 8),
			 needed("name=d,source=nvme:x,queues=2", 2));
	assert_int_equal(needed("name=d,source=nvme:x,fixed=off", 1), 64 * MIB);
	assert_int_equal(needed("name=d,source=nvme:x,umem=off", 1), 0);
}

/* In a process of its own, since a limit that was lowered does not come back. */
static int raise_without_rights(uint64_t wanted)
{
	struct rlimit limit = {.rlim_cur = MIB, .rlim_max = 2 * MIB};
	struct pst_error err = PST_ERROR_INIT;
	int ret;

	if (setrlimit(RLIMIT_MEMLOCK, &limit) != 0 || (geteuid() == 0 && setuid(65534) != 0))
		return 10;
	ret = pst_memlock_raise(wanted, &err);
	if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0)
		return 11;
	if (ret == 0)
		return limit.rlim_cur >= wanted ? 0 : 12;
	return ret == -EPERM && strstr(err.text, "3145728") && strstr(err.text, "2097152") &&
			       strstr(err.text, "ulimit -l 3072")
		       ? 1
		       : 13;
}

static int status_of(uint64_t wanted)
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0)
		_exit(raise_without_rights(wanted));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void what_is_allowed_is_raised(void **state)
{
	(void)state;
	assert_int_equal(status_of(0), 0);
	assert_int_equal(status_of(MIB), 0);
	assert_int_equal(status_of(2 * MIB), 0);
}

static void what_is_not_allowed_is_said_with_its_number(void **state)
{
	(void)state;
	assert_int_equal(status_of(3 * MIB), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_ring_counts_the_region_again),
		cmocka_unit_test(what_is_allowed_is_raised),
		cmocka_unit_test(what_is_not_allowed_is_said_with_its_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
