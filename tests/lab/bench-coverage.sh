# SPDX-License-Identifier: MIT
# full
# lab: --nvme size=16388K --nvme size=16388K,lba=4096
# A sequential pass covers every logical block exactly once: what the device counted, and what a check of
# every block finds. The sizes are no multiple of most blocks.
. tests/lab/lib.sh

bench=("${PENSTOCK:-penstock}" bench)

quietly() {
	"$@" >"$work/out" 2>"$work/err"
}

# Write commands as the device has counted them.
written() {
	nvme smart-log "/dev/nvme$1" -o json | jq '.host_write_commands | tonumber'
}

# covers DEVICE BS MODE THREADS
covers() {
	local n=$1 bs=$2 mode=$3 threads=$4 bytes blocks before name
	name="coverage $mode bs=$bs threads=$threads lba=$(cat "/sys/class/block/nvme${n}n1/queue/logical_block_size")"
	bytes=$(blockdev --getsize64 "/dev/nvme${n}n1")
	blocks=$(((bytes + bs - 1) / bs))
	before=$(written "$n")
	if ! "${bench[@]}" "/dev/ng${n}n1" --modes "$mode" --rw write --allow-write --verify --seed "$bs" --time 0 \
		--rounds 1 --qd 7 --bs "$bs" --threads "$threads" >"$work/out" 2>"$work/err"; then
		not_ok "$name" "$(cat "$work/err")"
		return
	fi
	# The kernel splits and merges for the block node.
	[[ $mode == block* ]] || equal "$name: each once" "$blocks" $(($(written "$n") - before))
	check "$name: all of it" "a block is not as written" \
		quietly "${bench[@]}" "/dev/ng${n}n1" --modes async+fixed --rw read --verify --seed "$bs" --time 0 \
		--rounds 1 --qd 16 --bs 4k
}

for bs in 512 4096 12288; do
	covers 0 $bs async+fixed 1
	covers 0 $bs sync 2
done
covers 0 1048576 block 1
covers 0 12288 block+vec 3
covers 1 4096 async 2
covers 1 12288 async+vec 1
covers 0 262144 async+fixed 1

# Buffers where the kernel must copy: at every such offset what is read is right.
for offset in 1 2 3 4 512; do
	for mode in async async+fixed; do
		check "buffers at offset $offset, $mode" "wrong data" \
			quietly "${bench[@]}" /dev/ng0n1 --modes $mode --rw read --verify --seed 262144 --time 0 \
			--rounds 1 --qd 8 --bs 4k --buffer-offset $offset
	done
done
"${bench[@]}" /dev/ng0n1 --modes async+fixed --qd 1 --time 0.1 --rounds 1 --buffer-offset 3 --json "$work/b.json" >"$work/out"
equal "copying is noted" 1 "$(jq '[.results[0].notes[] | select(test("the kernel copies"))] | length' "$work/b.json")"

# Random writes that are checked as they go and once more at the end.
check "random writes and reads, checked" "a block is not as written" \
	quietly "${bench[@]}" /dev/ng0n1 /dev/ng1n1 --threads 4 --modes sync,block,async,async+fixed --rw mix:50 \
	--verify --allow-write --qd 16 --time 0.3 --rounds 1
