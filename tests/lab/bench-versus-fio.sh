# SPDX-License-Identifier: MIT
# full
# At depth 128, 512 bytes, batch 32, one thread, async+fixed is at least as fast as fio's io_uring_cmd engine
# with everything on that makes it light, rounds interleaved in one boot.
. tests/lab/lib.sh

rounds=7
seconds=2
: >"$work/ours"
: >"$work/fio"
for _ in $(seq $rounds); do
	"${PENSTOCK:-penstock}" bench /dev/ng0n1 --modes async+fixed --qd 128 --bs 512 --batch 32 --rounds 1 --time $seconds \
		--json "$work/bench.json" >"$work/out"
	jq '.results[0].iops' "$work/bench.json" >>"$work/ours"
	fio --name=peer --filename=/dev/ng0n1 --ioengine=io_uring_cmd --rw=randread --bs=512 --iodepth=128 \
		--iodepth_batch_submit=32 --iodepth_batch_complete_max=32 --fixedbufs --registerfiles --norandommap \
		--gtod_reduce=1 --time_based --runtime=$seconds --output="$work/fio.json" --output-format=json
	jq '.jobs[0].read.iops' "$work/fio.json" >>"$work/fio"
done
median() {
	sort -g "$1" | sed -n $((rounds / 2 + 1))p
}
ours=$(median "$work/ours")
theirs=$(median "$work/fio")
echo "note: async+fixed $ours, fio $theirs I/Os a second"
check "async+fixed is $(awk "BEGIN {printf \"%.2f\", $ours / $theirs}") of fio, at least 1" "$ours against $theirs" \
	awk "BEGIN {exit !($ours >= $theirs)}"
