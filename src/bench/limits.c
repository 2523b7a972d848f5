/* SPDX-License-Identifier: MIT */
/* What the process may use: CPUs and locked memory. */
#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include <linux/capability.h>

#include "base.h"
#include "session.h"

/* Is `cpu` within a list as sysfs writes it, "0-3,8"? */
static bool in_list(const char *list, int cpu)
{
	int first, last, used;

	while (sscanf(list, "%d%n", &first, &used) == 1) {
		list += used;
		last = first;
		if (sscanf(list, "-%d%n", &last, &used) == 1)
			list += used;
		if (cpu >= first && cpu <= last)
			return true;
		if (*list != ',')
			break;
		list++;
	}
	return false;
}

uint32_t pst_bench_cpus(int numa_node, int **cpus)
{
	char path[64];
	char list[1024] = "";
	cpu_set_t allowed;
	uint32_t n = 0;
	int pass, cpu;

	*cpus = calloc(CPU_SETSIZE, sizeof(**cpus));
	if (!*cpus || sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
		return 0;
	if (numa_node >= 0) {
		(void)snprintf(path, sizeof(path), "/sys/devices/system/node/node%d/cpulist",
			       numa_node);
		(void)pst_read_line(path, list, sizeof(list));
	}
	for (pass = 0; pass < 2; pass++) {
		for (cpu = 0; cpu < CPU_SETSIZE; cpu++) {
			if (CPU_ISSET(cpu, &allowed) && in_list(list, cpu) == (pass == 0))
				(*cpus)[n++] = cpu;
		}
	}
	return n;
}

/* io_uring does not charge processes that have this capability. */
static bool has_ipc_lock(void)
{
	FILE *file = fopen("/proc/self/status", "re");
	unsigned long long caps = 0;
	char line[256];

	if (!file)
		return false;
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "CapEff: %llx", &caps) == 1)
			break;
	}
	(void)fclose(file);
	return caps >> CAP_IPC_LOCK & 1;
}

int pst_bench_allow_memlock(uint64_t bytes, struct pst_error *err)
{
	struct rlimit limit;
	struct rlimit higher;

	if (has_ipc_lock() || getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur >= bytes)
		return 0;
	higher.rlim_cur = bytes;
	higher.rlim_max = limit.rlim_max < bytes ? bytes : limit.rlim_max;
	if (setrlimit(RLIMIT_MEMLOCK, &higher) == 0)
		return 0;
	return pst_error_set(err, -EPERM,
			     "fixed buffers need %" PRIu64
			     " bytes of locked memory and the limit is %" PRIu64
			     ": raise it with: ulimit -l %" PRIu64 " (as root, or memlock in "
			     "limits.conf), or use a smaller --qd or --bs",
			     bytes, (uint64_t)limit.rlim_max, (bytes + 1023) / 1024);
}
