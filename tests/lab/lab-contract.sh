#!/bin/bash
# SPDX-License-Identifier: MIT
# host
# What lab/run promises, asserted from outside. With names of kernels as arguments on those (6.12 without; all three with
# PENSTOCK_FULL=1, and then what takes long as well).
set -u
export LC_ALL=C
project=$(cd "$(dirname "$0")/../.." && pwd)
top=$(mktemp -d "${TMPDIR:-/tmp}/lab-contract.XXXXXX")
# Where lab/run makes its files, so that what it leaves behind is seen.
export TMPDIR=$top/tmp
mkdir "$TMPDIR"
results=$project/build/lab/out/contract.$$
failures=0

trap 'rm -rf "$top" "$results"' EXIT
trap 'exit 130' INT TERM HUP

ok() {
	echo "ok $kernel: $1"
}

not_ok() {
	failures=$((failures + 1))
	echo "not ok $kernel: $1: $2"
}

# equal NAME WANTED GOT
equal() {
	if [ "$2" = "$3" ]; then ok "$1"; else not_ok "$1" "wanted \"$2\", got \"$3\""; fi
}

# fact NAME WANTED KEY: what the guest reported of itself
fact() {
	equal "$1" "$2" "$(sed -n "s/^$3=//p" "$facts" 2>/dev/null)"
}

# said NAME REGEX FILE
said() {
	if grep -qE -e "$2" "$3"; then ok "$1"; else not_ok "$1" "no line matches \"$2\" in: $(tail -n 5 "$3")"; fi
}

# Processes that name this test's folder: QEMU, its keepers, the followers of its output.
left_behind() {
	local process
	for process in /proc/[0-9]*; do
		if tr '\0' ' ' <"$process/cmdline" | grep -q "qemu.*$TMPDIR\|tail.*$TMPDIR"; then echo "${process#/proc/}"; fi
	done 2>/dev/null
}

nothing_left() {
	local end=$((SECONDS + 5))
	# A killed process needs a moment.
	while [ -n "$(left_behind)" ] && [ $SECONDS -lt $end ]; do
		sleep 0.1
	done
	equal "$1: nothing runs on" "" "$(left_behind)"
}

lab() {
	"$lab" --kernel "$kernel" "$@"
}

# The whole way of a command: arguments, streams, folder, status, and the devices that are there without options.
default_guest() {
	local out=$top/out err=$top/err dir="$project/build/lab/it's here"
	facts=$results/facts
	mkdir -p "$dir" "$results"
	cat >"$results/command" <<-'END'
		facts=$1/facts
		echo "args=$#:$2:$3:$4" | tr '\n' '/' >"$facts"
		echo >>"$facts"
		{
			echo "pwd=$(pwd)"
			echo "user=$(id -u)"
			echo "stdin=$(wc -c)"
			echo "out=$LAB_OUT"
			echo "kernel=$LAB_KERNEL $([ "$(uname -r)" = "$LAB_KERNEL_VERSION" ] && echo same)"
			echo "path=${PATH%%/build:*}/build"
			for n in 0 1; do
				echo "nvme$n=$(cat /sys/class/nvme/nvme$n/serial | tr -d ' ') $(blockdev --getsize64 --getss /dev/nvme${n}n1 | tr '\n' ' ')$(stat -c %F /dev/ng${n}n1)"
			done
			echo "nodes=$(cd /dev && echo ng* nvme*)"
			echo "hugepages=$(cat /sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages)"
			echo "modules=$(cut -d ' ' -f 1 /proc/modules | grep -xE 'nvme|vduse|virtio_vdpa|virtio_blk' | sort | tr '\n' ' ')"
			echo "poll=$(cat /sys/module/nvme/parameters/poll_queues)"
			echo "lo=$(ip -o link show lo | grep -c '[<,]UP[,>]')"
			echo "run=$(ls /run | tr '\n' ' ')"
			echo "cpus=$(nproc)"
			echo "removed=$("$1"/../../../../lab/monitor device_del nvme1; for i in $(seq 100); do [ -e /dev/nvme1 ] || break; sleep 0.05; done; cd /dev && echo ng* nvme*)"
		} </dev/stdin >>"$facts"
		echo lost >"$1/../../../lost.$$" && echo lost >"$PWD/lost" && echo lost >/tmp/lost.contract
		sleep 1000 & # does not hold up the end
		cat "$1/bytes"
		tac -s x "$1/bytes" >&2
		exit 42
	END
	python3 -c 'import sys; sys.stdout.buffer.write(bytes(range(256)) * 700)' >"$results/bytes"
	(cd "$dir" && echo "not for the guest" | lab -- bash "$results/command" "$results" "a b" $'c\'"\nd' '' >"$out" 2>"$err")
	equal "exit status passes through" 42 $?
	if cmp -s "$out" "$results/bytes"; then ok "stdout is byte-exact"; else not_ok "stdout is byte-exact" "$(cmp "$out" "$results/bytes" 2>&1)"; fi
	tac -s x "$results/bytes" >"$top/err.wanted"
	if cmp -s <(head -c "$(stat -c %s "$top/err.wanted")" "$err") "$top/err.wanted"; then ok "stderr is byte-exact"; else not_ok "stderr is byte-exact" "it differs"; fi
	equal "one line of the lab follows on stderr" "lab: kernel $version ($kernel): exit status 42, after" \
		"$(tail -c +$(($(stat -c %s "$top/err.wanted") + 1)) "$err" | sed 's/ after .*/ after/')"
	fact "arguments arrive as they are" "4:a b:c'\"/d:/" args
	fact "runs in the same folder" "$dir" pwd
	fact "runs as root" 0 user
	fact "stdin is empty" 0 stdin
	fact "LAB_OUT is in the build folder" "$project/build/lab/out" out
	fact "runs the kernel asked for" "$kernel same" kernel
	fact "the built penstock comes first on PATH" "$project/build" path
	fact "ng0n1 is 1 GiB with 512-byte LBAs" "lab0 1073741824 512 character special file" nvme0
	fact "ng1n1 is 512 MiB with 4096-byte LBAs" "lab1 536870912 4096 character special file" nvme1
	fact "the namespaces are two" "ng0n1 ng1n1 nvme0 nvme0n1 nvme1 nvme1n1" nodes
	fact "hot removal through the monitor" "ng0n1 nvme0 nvme0n1" removed
	fact "512 hugepages" 512 hugepages
	if [ "$kernel" = 6.1 ]; then
		fact "modules" "nvme virtio_blk " modules
	else
		fact "modules" "nvme vduse virtio_blk virtio_vdpa " modules
	fi
	fact "no poll queues" 0 poll
	fact "loopback is up" 1 lo
	fact "/run is fresh" "err lab lock out " run
	fact "two CPUs" 2 cpus
	if [ -e "$project/build/lost.$$" ] || [ -e "$dir/lost" ] || [ -e /tmp/lost.contract ]; then
		not_ok "what else is written vanishes" "a file is there"
	else
		ok "what else is written vanishes"
	fi
	equal "temporary files are removed" "" "$(ls "$TMPDIR")"
	rmdir "$dir"
}

# Every key of --nvme, for a project in /tmp, with the backing files kept.
devices() {
	local copy="$top/pro, ject" disks=$top/disks err=$top/err
	mkdir -p "$copy" "$results"
	cp -r "$project/lab" "$copy/"
	cat >"$top/command" <<-'END'
		facts=$LAB_OUT/facts
		controller() {
			nvme id-ctrl "/dev/nvme$1" -o json | jq -r "\"\(.sn | rtrimstr(\" \")) \(.$2)\"" | tr -s ' '
		}
		namespace() {
			nvme id-ns "/dev/ng$1" -o json | jq -r '(.flbas % 16) as $f | "\(.nsze) \(.lbafs[$f].ds) \(.lbafs[$f].ms) \(.flbas / 16 | floor) \(.dps)"'
		}
		# for the backing file
		printf penstock | dd of=/dev/nvme0n1 bs=4096 seek=5 conv=sync oflag=direct status=none
		dd if=/dev/urandom of=/dev/nvme0n1 bs=1M seek=1 count=1 oflag=direct status=none
		blkdiscard -o 1048576 -l 1048576 /dev/nvme0n1
		{
			echo "nodes=$(cd /dev && echo ng*)"
			echo "nsids=$(cat /sys/block/nvme0n*/nsid | tr '\n' ' ')"
			echo "mdts=$(controller 0 mdts)"
			echo "large=$(namespace 0n1) $(namespace 0n4)"
			echo "apart=$(controller 1 mdts) $(namespace 1n1)"
			echo "extended=$(namespace 2n1)"
			echo "zoned=$(cat /sys/block/nvme3n1/queue/zoned) $(cat /sys/block/nvme3n1/queue/chunk_sectors)"
			for sector in 2047 2048 2055 2056 9000; do
				dd if=/dev/nvme4n1 of=/dev/null bs=512 skip=$sector count=1 iflag=direct 2>/dev/null
				printf 'read%d=%d\n' $sector $?
				dd if=/dev/zero of=/dev/nvme4n1 bs=512 seek=$sector count=1 oflag=direct 2>/dev/null
				printf 'write%d=%d\n' $sector $?
			done
			echo "poll=$(cat /sys/block/nvme0n1/queue/io_poll)"
			echo "variable=$VARIABLE"
		} >"$facts"
		echo here; pwd
	END
	rm -rf "${disks:?}"
	(cd "$copy" && LAB_KEEP_DISKS=$disks lab/run --kernel "$kernel" --poll-queues 1 --env "VARIABLE=it's set" \
		--nvme size=256M,lba=4096,count=4,mdts=5 --nvme size=64M,lba=4096,ms=8,pi=1 --nvme size=64M,ms=8,mset=1 \
		--nvme size=256M,zoned=32M --nvme size=64M,errors=2048+8:9000+1 -- bash "$top/command" >"$top/out" 2>"$err")
	equal "a project in /tmp: exit status" 0 $?
	equal "a project in /tmp: its folder" "here $copy" "$(tr '\n' ' ' <"$top/out" | sed 's/ $//')"
	facts=$copy/build/lab/out/facts
	fact "--nvme: nodes in order" "ng0n1 ng0n2 ng0n3 ng0n4 ng1n1 ng2n1 ng3n1 ng4n1" nodes
	fact "--nvme count: namespaces are numbered in order" "1 2 3 4 " nsids
	fact "--nvme mdts" "lab0 5" mdts
	fact "--nvme size, lba, count" "65536 12 0 0 0 65536 12 0 0 0" large
	fact "--nvme ms, pi; mdts without" "lab1 7 16384 12 8 0 1" apart
	fact "--nvme mset" "131072 9 8 1 0" extended
	fact "--nvme zoned" "host-managed 65536" zoned
	for sector in 2047:0 2048:1 2055:1 2056:0 9000:1; do
		fact "--nvme errors: read of sector ${sector%:*}" "${sector#*:}" "read${sector%:*}"
		fact "--nvme errors: write of sector ${sector%:*}" "${sector#*:}" "write${sector%:*}"
	done
	fact "--poll-queues" 1 poll
	fact "--env" "it's set" variable
	equal "LAB_KEEP_DISKS keeps what was written" penstock "$(dd if="$disks/nvme0n1" bs=4096 skip=5 count=1 status=none | tr -d '\0')"
	if (($(stat -c %b "$disks/nvme0n1") <= 128)); then
		ok "deallocation frees the backing file"
	else
		not_ok "deallocation frees the backing file" "$(stat -c %b "$disks/nvme0n1") blocks are in use"
	fi
	equal "LAB_KEEP_DISKS names the files after the namespaces" "nvme0n1 nvme0n2 nvme0n3 nvme0n4 nvme1n1 nvme2n1 nvme3n1 nvme4n1 " "$(cd "$disks" && echo * "")"
}

bare_guest() {
	lab --bare --mem 1G --cpus 1 -- bash -c 'cut -d " " -f 1 /proc/modules | grep -cE "nvme|vduse|vdpa|virtio_blk"
		cat /proc/sys/vm/nr_hugepages; ls /dev/ng* 2>/dev/null; nproc; modprobe nvme && [ -d /sys/class/nvme ] && echo can' >"$top/out" 2>"$top/err"
	equal "--bare loads and reserves nothing, but could" "0 0 1 can" "$(tr '\n' ' ' <"$top/out" | sed 's/ $//')"
}

# Both guests at once: several lab/run must not disturb each other.
faults() {
	local first warning='WARNING: CPU: 0 PID: 1 at some_file.c:1'
	[ "$kernel" != next ] || warning='WARNING: some_file.c:1 at some_function+0x1/0x2, CPU#0: sh/1'
	lab --mem 1G --bare -- sh -c "echo '<4>$warning' >/dev/kmsg; echo said" >"$top/out1" 2>"$top/err1" &
	first=$!
	# Allowing one fault does not allow another: here a panic, which also ends the guest before its command.
	lab --mem 1G --bare --allow some_file -- sh -c "echo '<4>$warning' >/dev/kmsg; echo c >/proc/sysrq-trigger; sleep 60" \
		>"$top/out2" 2>"$top/err2"
	equal "a panic ends with 125" 125 $?
	wait $first
	equal "a kernel warning ends with 125" 125 $?
	said "a kernel warning: the kernel log is shown" '^lab: \| .*WARNING: .*some_file.c:1' "$top/err1"
	said "a kernel warning: stdout is there" said "$top/out1"
	said "a panic: the lab says which" '^lab: kernel .*sysrq triggered crash' "$top/err2"
	lab --mem 1G --bare --allow some_file -- sh -c "echo '<4>$warning' >/dev/kmsg; exit 3" >"$top/out" 2>"$top/err"
	equal "--allow lets a kernel warning pass" 3 $?
}

hung_task() {
	lab --mem 1G --bare -- sh -c 'modprobe dm-mod && dmsetup create slow --table "0 2048 zero" && dmsetup suspend slow && { dd if=/dev/zero of=/dev/mapper/slow bs=4096 count=1 & } && sleep 75' \
		>"$top/out" 2>"$top/err"
	equal "a hung task ends with 125" 125 $?
	said "a hung task is named" 'dd:[0-9]+ blocked.* for more than' "$top/err"
}

endings() {
	local started=$SECONDS pid signal status
	lab --timeout 3 -- sleep 100 >"$top/out" 2>"$top/err"
	equal "time-out ends with 124" 124 $?
	if ((SECONDS - started <= 6)); then ok "time-out counts from the start"; else not_ok "time-out counts from the start" "$((SECONDS - started)) s"; fi
	nothing_left time-out
	for signal in TERM KILL; do
		"$lab" --kernel "$kernel" -- sleep 100 >"$top/out" 2>"$top/err" &
		pid=$!
		sleep 1.5
		[ -n "$(left_behind)" ] || not_ok "$signal" "the guest did not start"
		kill -$signal $pid
		wait $pid 2>/dev/null
		status=$?
		[ $signal = KILL ] || equal "$signal ends with 128 + its number" 143 $status
		nothing_left $signal
	done
}

# usage_error NAME ARG…: status 2 and one sentence
usage_error() {
	local name=$1
	shift
	"$lab" "$@" >"$top/out" 2>"$top/err"
	equal "usage: $name ends with 2" 2 $?
	equal "usage: $name is said in one sentence" "1 1" "$(wc -l <"$top/err") $(grep -cE '^lab: .*\.$' "$top/err")"
}

usage() {
	usage_error "no command" --
	usage_error "unknown option" --frob -- true
	usage_error "unknown kernel" --kernel 5.10 -- true
	usage_error "unknown key" --nvme sise=1G -- true
	usage_error "bad size" --nvme size=lots -- true
	usage_error "bad range of errors" --nvme errors=8 -- true
	usage_error "bad regular expression" --allow '(' -- true
	"$lab" --help >"$top/out" 2>"$top/err"
	equal "--help ends with 0" 0 $?
	said "--help tells the options" --poll-queues "$top/out"
}

# A mirror that is not there, and nothing cached.
unreachable_mirror() {
	mkdir -p "$top/sources"
	echo "deb [trusted=yes] file:$top/no-mirror bookworm main" >"$top/sources/some.list"
	printf 'Dir::Etc::SourceList "/dev/null";\nDir::Etc::SourceParts "%s";\n' "$top/sources" >"$top/apt.conf"
	APT_CONFIG=$top/apt.conf XDG_CACHE_HOME=$top/cache "$lab" -- true >"$top/out" 2>"$top/err"
	equal "no mirror and no cache is a failure" 1 $?
	said "no mirror and no cache is said" '^lab: kernel 6.12 cannot be fetched: .*mirror' "$top/err"
}

lab=$project/lab/run
kernels=("$@")
full=${PENSTOCK_FULL:-0}
[ ${#kernels[@]} -gt 0 ] || if [ "$full" = 1 ]; then kernels=(6.12 6.1 next); else kernels=(6.12); fi

for kernel in "${kernels[@]}"; do
	version=$(cat "$("$project/lab/kernel" "$kernel")/version") || exit 1
	default_guest
	devices
	bare_guest
	faults
	[ "$full" = 0 ] || hung_task
done
endings
usage
unreachable_mirror
[ $failures -eq 0 ]
