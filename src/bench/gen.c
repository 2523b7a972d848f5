/* SPDX-License-Identifier: MIT */
#include "gen.h"

/* Where part `part` of `parts` begins: the parts differ by one block at most. */
static uint64_t part_begin(uint64_t blocks, uint32_t part, uint32_t parts)
{
	return (uint64_t)((unsigned __int128)blocks * part / parts);
}

bool pst_gen_init(struct pst_gen *gen, const struct pst_gen_params *params)
{
	uint64_t full = params->lbas / params->per_block;
	uint64_t all = pst_gen_blocks(params->lbas, params->per_block);

	gen->state = pst_gen_mix(params->seed ^ ((uint64_t)params->part << 32));
	gen->random = params->random;
	gen->once = params->once && !params->random;
	gen->first = part_begin(all, params->part, params->parts);
	gen->end = part_begin(all, params->part + 1, params->parts);
	gen->next = gen->first;
	gen->base = 0;
	gen->span = full;
	if (params->random && params->own_part) {
		gen->base = part_begin(full, params->part, params->parts);
		gen->span = part_begin(full, params->part + 1, params->parts) - gen->base;
		gen->first = gen->base;
		gen->end = gen->base + gen->span;
	}
	return params->random ? gen->span != 0 : gen->end != gen->first;
}
