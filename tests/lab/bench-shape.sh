# SPDX-License-Identifier: MIT
# full
# lab: --poll-queues 1 --timeout 900
# The known shape of the table, as ratios of medians of 5 rounds interleaved in one boot. It needs a machine
# that does little else: polling on a busy one measures who else runs.
. tests/lab/lib.sh

json=$work/bench.json
if ! "${PENSTOCK:-penstock}" bench /dev/ng0n1 --modes sync,block,async,async+fixed,async+fixed+poll \
	--qd 1,2,4,8,16,32,64,128 --rounds 5 --time 1 --json "$json" --csv "$LAB_OUT/bench-shape.csv" 2>"$work/err"; then
	not_ok "the table" "$(cat "$work/err")"
	exit
fi

# iops MODE QD
iops() {
	jq --arg mode "$1" --argjson qd "$2" '.results[] | select(.mode == $mode and .qd == $qd) | .iops' "$json"
}

# at_least NAME FACTOR A B: A is at least FACTOR times B
at_least() {
	check "$1: $(awk "BEGIN {printf \"%.2f\", $3 / $4}") of at least $2" "$3 against $4 I/Os a second" \
		awk "BEGIN {exit !($3 >= $2 * $4)}"
}

low=$(for qd in 1 2 4 8 16 32 64 128; do iops sync $qd; done | sort -g | head -1)
high=$(for qd in 1 2 4 8 16 32 64 128; do iops sync $qd; done | sort -g | tail -1)
at_least "sync is flat over depth" 0.7 "$low" "$high"
for qd in 1 2 4 8 16 32 64 128; do
	at_least "async against block at depth $qd" 0.9 "$(iops async $qd)" "$(iops block $qd)"
done
at_least "fixed buffers at depth 128" 1.12 "$(iops async+fixed 128)" "$(iops async 128)"
at_least "polling at depth 1" 1.5 "$(iops async+fixed+poll 1)" "$(iops async+fixed 1)"
