# SPDX-License-Identifier: MIT
# lab: --poll-queues 1
# penstock bench: every mode runs, in every direction, without an error and without writing unasked.
. tests/lab/lib.sh

bench=("${PENSTOCK:-penstock}" bench)
modes=sync,block,block+fixed,block+poll,block+vec,async,async+fixed,async+poll,async+fixed+poll
modes=$modes,async+fixed+sqpoll,async+sqpoll,async+vec,nop,nop+sqpoll
json=$work/bench.json

# whole NAME WANTED [ARG...]: all modes run, WANTED results come, no errors
whole() {
	local name=$1 wanted=$2
	shift 2
	if "${bench[@]}" "$@" --rounds 1 --json "$json" >"$work/table" 2>"$work/err"; then
		equal "$name" "$wanted 0" \
			"$(jq -r '"\(.results | length) \([.results[].errors] | add)"' "$json")"
	else
		not_ok "$name" "exit status $?: $(cat "$work/err")"
	fi
}

before=$(nvme smart-log /dev/nvme0 -o json | jq .host_write_commands)
whole "all modes, random read" 28 /dev/ng0n1 --modes "$modes" --qd 1,32 --time 0.15
equal "reading writes nothing" "$before" "$(nvme smart-log /dev/nvme0 -o json | jq .host_write_commands)"
equal "a rate above zero everywhere" 0 "$(jq '[.results[] | select(.iops <= 0)] | length' "$json")"
equal "flags are named" true \
	"$(jq '.results[] | select(.mode == "async+fixed" and .qd == 1) | .flags | contains(["IORING_SETUP_DEFER_TASKRUN", "IORING_SETUP_SINGLE_ISSUER", "IORING_REGISTER_RING_FDS"])' "$json")"

"${bench[@]}" --compare "$json" "$json" >"$work/compare"
equal "comparing a file with itself" "28 1" "$(grep -c '1.000 .*within the spread' "$work/compare") $(grep -c '^mode' "$work/compare")"

whole "sequential read from the block node's name" 2 /dev/nvme0n1 --modes block,async+fixed --rw read --qd 8 --time 0.15
whole "mixed, unregistered files" 3 /dev/ng0n1 --modes sync,block+fixed,async+fixed --rw mix:70 --qd 8 \
	--time 0.15 --allow-write --no-registered-files
whole "two namespaces of different blocks, two threads" 3 /dev/ng0n1 /dev/ng1n1 --threads 2 --qd 16 \
	--modes sync,block,async+fixed --time 0.2
whole "two threads on one namespace, passes in parts" 2 /dev/ng0n1 --threads 2 --rw read --time 0 \
	--bs 64k --size 32M --qd 4 --modes block,async+fixed
whole "a count" 1 /dev/ng0n1 --modes async+fixed --qd 32 --count 1000 --threads 2
whole "buffers at offset 512" 2 /dev/ng0n1 --modes block+fixed,async+fixed --buffer-offset 512 --qd 4 --time 0.1

# An open loop: what is asked for is what comes, as long as the device can.
whole "a rate" 3 /dev/ng0n1 --modes sync,block,async+fixed --qd 32 --rate 500 --time 1
equal "the rate is kept within 2 %" 0 \
	"$(jq '[.results[] | select(.iops < 490 or .iops > 510)] | length' "$json")"

# Each of many namespaces' share is in a note.
whole "a table, JSON and CSV at once" 1 /dev/ng0n1 --modes async --qd 1 --time 0.1 --csv "$work/bench.csv"
equal "the CSV has a head and a line" 2 "$(wc -l <"$work/bench.csv")"
check "the table has three blocks" "$(cat "$work/table")" \
	test "$(grep -cE '^(kIOPS|latency|CPU)' "$work/table")" = 3
