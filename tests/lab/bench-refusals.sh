# SPDX-License-Identifier: MIT
# lab: --nvme size=256M --nvme size=64M,lba=4096
# penstock bench refuses with one sentence and the right exit status, and ends well when things go wrong.
. tests/lab/lib.sh

bench=("${PENSTOCK:-penstock}" bench)
ng=/dev/ng0n1
block=/dev/nvme0n1

# refused NAME STATUS WORDS ARG...: exit status and a single sentence that has the words
refused() {
	local name=$1 status=$2 words=$3 got
	shift 3
	"${bench[@]}" "$@" >"$work/out" 2>"$work/err" </dev/null
	got=$?
	if [ $got != "$status" ]; then
		not_ok "$name" "exit status $got: $(cat "$work/err")"
	elif [ "$(wc -l <"$work/err")" != 1 ] || ! grep -q "^penstock: .*$words" "$work/err"; then
		not_ok "$name" "said: $(cat "$work/err")"
	else
		ok "$name"
	fi
}

quietly() {
	"$@" >"$work/out" 2>"$work/err"
}

quick=(--modes async+fixed --qd 4 --rounds 1 --time 0.1)
write=("${quick[@]}" --rw randwrite)

refused "bad arguments" 2 "fast" $ng --modes fast
refused "writing unasked" 2 "allow-write" $ng "${write[@]}"
refused "time 0 without an end" 2 "never ends" $ng --time 0
refused "no poll queues" 1 "poll_queues=1" $ng --modes async+fixed+poll --time 0.1
refused "no poll queues, other modes run" 1 "poll_queues=1" $ng --modes async,async+poll --time 0.1 --qd 1
check "their table is there" "$(cat "$work/out")" grep -q '^ *1  ' "$work/out"
refused "a block that is no multiple of the LBA" 1 "4096 bytes of a logical block" /dev/ng1n1 "${quick[@]}" --bs 512
refused "larger than the device takes" 1 "at most [0-9]* bytes in one command" $ng "${quick[@]}" --bs 1M
refused "past the end" 1 "past the end" $ng "${quick[@]}" --offset 255M --size 2M
refused "no such device" 1 "No such file" /dev/ng9n1 "${quick[@]}"
refused "a controller" 1 "controller" /dev/nvme0 "${quick[@]}"
refused "misaligned direct I/O" 1 "does not take buffers" $ng --modes block --buffer-offset 1 --time 0.1
if [ "$LAB_KERNEL" != next ]; then
	refused "vectors in fixed buffers" 1 "6.15" $ng --modes async+fixed+vec --time 0.1
fi

mkfs.ext4 -q $block
refused "a file system" 1 "ext4" $ng "${write[@]}" --allow-write
mkdir "$work/mnt"
mount $block "$work/mnt"
refused "a mounted namespace" 1 "mounted on $work/mnt" $ng "${write[@]}" --allow-write
umount "$work/mnt"
wipefs -qa $block
modprobe dm-mod
if echo "0 2048 linear $block 0" | dmsetup create held --noudevsync --noudevrules 2>/dev/null; then
	refused "a held namespace" 1 "used by /dev/dm-" $ng "${write[@]}" --allow-write
	dmsetup remove --noudevsync --noudevrules held
else
	not_ok "a held namespace" "dmsetup made no device"
fi
echo ',,L' | sfdisk -q --no-tell-kernel $block 2>/dev/null
refused "a partition table" 1 "dos" $ng "${write[@]}" --allow-write
check "force writes nevertheless" "it is refused" quietly "${bench[@]}" $ng "${write[@]}" --allow-write --force
wipefs -qa $block
python3 -c "
import os, time, sys
fd = os.open('$block', os.O_RDONLY | os.O_EXCL)
print('held', flush=True)
time.sleep(60)" >"$work/holder" &
holder=$!
wait_for 20 grep -q held "$work/holder"
refused "a node opened exclusively" 1 "held by another" $ng "${write[@]}" --allow-write
kill $holder
wait $holder 2>/dev/null
check "free again" "it is refused" quietly "${bench[@]}" $ng "${write[@]}" --allow-write

# Locked memory: root is not charged; others get a sentence with the number.
chmod 666 $ng
(
	ulimit -l 64
	setpriv --reuid=65534 --regid=65534 --clear-groups --bounding-set=-all --inh-caps=-all \
		"${bench[@]}" $ng "${quick[@]}" >"$work/out" 2>"$work/err"
)
equal "memlock 64 KiB names the number needed" "1 1" "$? $(grep -c 'need 2097152 bytes of locked memory and the limit is 65536.*ulimit -l 2048' "$work/err")"

# A full disk costs the file, not the figures.
mkdir "$work/small"
mount -t tmpfs -o size=4k tmpfs "$work/small"
echo old >"$work/small/bench.json"
refused "a full disk for the JSON" 1 "No space left" $ng "${quick[@]}" --json "$work/small/bench.json"
check "the table came nevertheless" "$(cat "$work/out")" grep -q '^kIOPS' "$work/out"
equal "the old file is as it was, nothing beside it" "old bench.json" "$(cat "$work/small/bench.json") $(ls "$work/small")"

# More commands than the queue has tags.
echo none >/sys/class/block/nvme0n1/queue/scheduler
"${bench[@]}" $ng --modes block,async,async+fixed,async+fixed+sqpoll --qd 2048 --bs 512 --rounds 1 --time 0.3 \
	--json "$work/deep.json" >"$work/out" 2>&1
equal "depth above the tags: runs, and says so" "0 0 4" \
	"$? $(jq '[.results[].errors] | add' "$work/deep.json") $(jq '[.results[].notes[] | select(test("above the [0-9]+ tags"))] | length' "$work/deep.json")"

# Interrupted: what is there is shown.
"${bench[@]}" $ng --modes async,async+fixed --qd 8 --time 1 --rounds 20 --json "$work/part.json" >"$work/out" 2>"$work/err" &
pid=$!
sleep 2.5
kill -INT $pid
wait $pid
equal "interrupted: exit status, one sentence, partial table" "1 1 1 true" \
	"$? $(wc -l <"$work/err") $(grep -c 'This table is partial' "$work/out") $(jq .partial "$work/part.json")"

# Gone in mid-run, last: the device does not come back. On the ring, by ioctl, through the block node.
gone() {
	local mode=$1 node=$2 rc
	"${bench[@]}" "$node" --modes "$mode" --qd 16 --time 20 --rounds 2 >"$work/out" 2>"$work/err" &
	pid=$!
	sleep 1.5
	echo 1 >"/sys/class/nvme/nvme$3/device/remove"
	SECONDS=0
	wait $pid
	rc=$?
	if [ $rc = 1 ] && [ $SECONDS -lt 10 ] && grep -q 'partial' "$work/out" && grep -q 'I/Os failed' "$work/err"; then
		ok "device gone under $mode"
	else
		not_ok "device gone under $mode" "exit status $rc after $SECONDS s: $(cat "$work/err" "$work/out")"
	fi
}
address=$(basename "$(readlink -f /sys/class/nvme/nvme1/device)")
gone async+fixed /dev/ng0n1 0
gone block /dev/ng1n1 1
echo 1 >/sys/bus/pci/rescan
if wait_for 20 test -e /dev/ng0n1 -a -e /dev/ng1n1; then
	gone sync /dev/ng1n1 1
else
	not_ok "device gone under sync" "$address did not come back"
fi
