# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# For the tests that run in the lab's guest: reporting, serving, loading, counting.

set -u
failures=0
work=$(mktemp -d /run/test.XXXXXX)
trap 'exit "$((failures > 0))"' EXIT

ok() {
	echo "ok $1"
}

not_ok() {
	failures=$((failures + 1))
	echo "not ok $1: $2"
}

# check NAME WHY COMMAND...: ok when the command succeeds
check() {
	local name=$1 why=$2
	shift 2
	if "$@"; then ok "$name"; else not_ok "$name" "$why"; fi
}

# equal NAME WANTED GOT
equal() {
	if [ "$2" = "$3" ]; then ok "$1"; else not_ok "$1" "wanted $2, got $3"; fi
}

# Waits up to SECONDS for a command to succeed.
wait_for() {
	local end=$((SECONDS + $1))
	shift
	until "$@" 2>/dev/null; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.05
	done
}

# serve EXPORT [OPTION...]: starts a daemon and waits for its ready lines, one for each --export. Sets
# $pid, $device (of the first) and the files $out and $err.
serve() {
	local exports=1 arg
	out=$work/serve.out
	err=$work/serve.err
	: >"$out"
	for arg in "$@"; do [ "$arg" = --export ] && exports=$((exports + 1)); done
	${PENSTOCK:-penstock} serve --export "$@" >"$out" 2>"$err" &
	pid=$!
	if ! wait_for 30 served "$exports"; then
		echo "note: serve --export $* did not get ready: $(cat "$out" "$err")"
		kill -KILL $pid 2>/dev/null
		return 1
	fi
	device=$(value device "$(grep -m1 '^ready' "$out")")
}

served() {
	[ "$(grep -c '^ready' "$out")" -ge "$1" ] || { ! kill -0 $pid && return 1; }
}

# value KEY LINE: what stands behind KEY= in a ready or done line
value() {
	sed -n "s/.*[ ]$1=\([^ ]*\).*/\1/p" <<<"$2"
}

# Ends the daemon in order; its exit status.
stop() {
	kill -TERM $pid
	wait $pid
}

# verify BLOCKSIZE SIZE [FIO OPTION...]: random write, read back, compared. Says why when it is not right.
verify() {
	local bs=$1 size=$2 json=$work/fio.json
	shift 2
	if ! fio --name=verify --filename="$device" --allow_file_create=0 --direct=1 \
		--ioengine=io_uring --iodepth=64 --rw=randwrite --bs="$bs" --size="$size" \
		--verify=crc32c --verify_fatal=1 --randseed="${SEED:-1}" --output="$json" \
		--output-format=json "$@" >"$work/fio.err" 2>&1; then
		echo "note: fio: $(tail -n 3 "$work/fio.err" "$json" | tr '\n' ' ')"
		return 1
	fi
	# A device that goes away reads as end of file, and fio ends with 0: count the bytes.
	python3 tests/lab/fio_whole.py "$json" "$bs"
}

# Counts of NVMe commands by opcode as the kernel sends them: nvme_count begins, nvme_counted OPCODE.
tracing=/sys/kernel/tracing
nvme_count() {
	echo '!hist:keys=opcode' >$tracing/events/nvme/nvme_setup_cmd/trigger 2>/dev/null
	echo 'hist:keys=opcode if qid != 0' >$tracing/events/nvme/nvme_setup_cmd/trigger
}

nvme_counted() {
	local total=0 op n
	while read -r op n; do
		[[ " $* " == *" $op "* ]] && total=$((total + n))
	done < <(sed -n 's/^{ opcode: *\([0-9]*\) } hitcount: *\([0-9]*\).*/\1 \2/p' \
		$tracing/events/nvme/nvme_setup_cmd/hist)
	echo $total
}

# Everything that a daemon could leave behind, in one line.
leftovers() {
	echo "vduse=$(find /dev/vduse -type c ! -name control | wc -l)" \
		"hugepages=$(awk '/HugePages_Free/ {print $2}' /proc/meminfo)" \
		"vdpa=$(find /sys/bus/vdpa/devices -mindepth 1 | wc -l)" \
		"disks=$(find /sys/block -name 'vd*' | wc -l)" \
		"processes=$(pgrep -c penstock)" \
		"sockets=$(find /run/penstock -type s 2>/dev/null | wc -l)"
}
