/* SPDX-License-Identifier: MIT */
/* From "nvme:/dev/ng0n1" to the backend that opens it, and what the backends share. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "backend.h"
#include "base.h"

static const struct pst_backend backends[] = {
	{"nvme", pst_nvme_backend_open},
	{"file", pst_file_open},
	{"mem", pst_mem_open},
	{"null", pst_null_open},
};

int pst_blk_open(const char *source, const struct pst_blk_open_params *params, struct pst_blk **blk,
		 struct pst_error *err)
{
	size_t i;

	for (i = 0; i < PST_ARRAY_SIZE(backends); i++) {
		size_t length = strlen(backends[i].name);

		if (strncmp(source, backends[i].name, length) != 0 || source[length] != ':')
			continue;
		if (source[length + 1] == '\0')
			break;
		return backends[i].open(source + length + 1, source, params, blk, err);
	}
	return pst_error_set(err, -EINVAL,
			     "source %s is none that is known: write nvme:/dev/ng0n1, file:PATH, "
			     "mem:SIZE or null:SIZE",
			     source);
}

int pst_backend_slice(const char *source, const struct pst_blk_open_params *params, uint64_t total,
		      uint32_t block, uint64_t *size, struct pst_error *err)
{
	uint64_t length = params->size;

	if (!pst_is_aligned(params->offset, block) || !pst_is_aligned(length, block))
		return pst_error_set(
			err, -EINVAL,
			"the slice of %s at offset %" PRIu64 " of %" PRIu64
			" bytes is not aligned: both must be multiples of its block size "
			"%u",
			source, params->offset, length, block);
	if (params->offset >= total || length > total - params->offset)
		return pst_error_set(err, -EINVAL,
				     "the slice of %s at offset %" PRIu64 " of %" PRIu64
				     " bytes passes its end: it has %" PRIu64 " bytes",
				     source, params->offset, length, total);
	*size = length ? length : pst_round_down(total - params->offset, block);
	return 0;
}

const char *pst_backend_op_name(uint8_t op)
{
	static const char *const names[] = {"read", "write", "flush", "discard", "write zeroes"};

	return op < PST_ARRAY_SIZE(names) ? names[op] : "request";
}

bool pst_backend_log_due(uint64_t *logged_ns)
{
	uint64_t now = pst_now_ns();

	if (*logged_ns && now - *logged_ns < 1000000000U)
		return false;
	*logged_ns = now;
	return true;
}
