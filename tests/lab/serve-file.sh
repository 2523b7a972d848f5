# SPDX-License-Identifier: MIT
# lab: --kernel 6.12 --timeout 600
# full
# Files, block devices and memory as sources: data verifies, holes are made, what is held by another
# is refused, and a file that is cut while it is served gives errors.
. tests/lab/lib.sh

mnt=$work/mnt
image=$mnt/disk.img
mkdir -p "$mnt"
mkfs.ext4 -q /dev/nvme1n1 && mount /dev/nvme1n1 "$mnt" || exit 1
truncate -s 64M "$image"

done_line() {
	grep '^done' "$out"
}

blocks() {
	stat -c %b "$image"
}

# zeroes DEVICE MIB_SKIPPED MIB: do these read as zeroes?
zeroes() {
	[ "$(dd if="$1" iflag=direct bs=1M skip="$2" count="$3" status=none | tr -d '\0' | wc -c)" = 0 ]
}

# refused NAME PATTERN OPTION...: serve with these ends with 1 and a sentence like that
refused() {
	local name=$1 pattern=$2 status
	shift 2
	timeout 20 "${PENSTOCK:-penstock}" serve "$@" >/dev/null 2>"$work/refused"
	status=$?
	if [ $status -eq 1 ] && grep -q "$pattern" "$work/refused"; then
		ok "$name"
	else
		not_ok "$name" "exit status $status: $(cat "$work/refused")"
	fi
}

# A file on a file system whose device has blocks of 4096 bytes: so has the disk.
if serve "name=disk0,source=file:$image,queues=2"; then
	equal "file: size" $((64 << 20)) "$(value size "$(cat "$out")")"
	equal "file: blocks are those of the device below" 4096 "$(blockdev --getss "$device")"
	equal "file: no warning about O_DIRECT" "" "$(cat "$err")"
	check "file: verify bs=4k" "fio is not content" verify 4k 4m
	check "file: verify bs=60k, two jobs" "fio is not content" \
		verify 60k 3m --numjobs=2 --offset_increment=32m
	check "file: verify bs=1m" "fio is not content" verify 1m 8m
	dd if=/dev/urandom of="$device" oflag=direct bs=1M count=32 status=none
	equal "file: what is on the disk is in the file" \
		"$(dd if="$device" iflag=direct bs=1M status=none | sha256sum)" "$(sha256sum <"$image")"

	before=$(blocks)
	blkdiscard --offset 8M --length 16M "$device"
	equal "file: a discard makes a hole" $((16 << 11)) $((before - $(blocks)))
	check "file: discarded blocks read as zeroes" "they do not" zeroes "$device" 8 16
	before=$(blocks)
	blkdiscard -z --offset 24M --length 4M "$device"
	check "file: zeroed blocks read as zeroes" "they do not" zeroes "$device" 24 4
	check "file: and no others" "others are zeroes" eval '! zeroes "$device" 28 4'

	mkfs.ext4 -q "$device" && mkdir -p "$work/inner" && mount "$device" "$work/inner"
	cp -r src "$work/inner/"
	umount "$work/inner"
	mount "$device" "$work/inner"
	check "file: a file system on it keeps its files" "they differ" diff -r src "$work/inner/src"
	fstrim "$work/inner" || not_ok "file: fstrim" "it failed"
	umount "$work/inner"
	stop
	equal "file: exit status" 0 $?
	equal "file: no errors" 0 "$(value errors "$(done_line)")"
	equal "file: fixed and unfixed count NVMe commands only" "0 0" \
		"$(value fixed "$(done_line)") $(value unfixed "$(done_line)")"
else
	not_ok "file: serve" "not ready"
fi

# Cut below us. Only what is still there is read; nothing is written any more.
dd if=/dev/urandom of="$image" bs=1M count=16 conv=notrunc status=none
if serve "name=disk0,source=file:$image"; then
	wanted=$(dd if="$image" bs=1M count=8 status=none | sha256sum)
	dd if="$device" of=/dev/null iflag=direct bs=1M count=1 skip=40 status=none ||
		not_ok "cut: read before" "it failed"
	truncate -s 8M "$image"
	check "cut: a read behind the end fails" "it succeeded" \
		eval '! dd if="$device" of=/dev/null iflag=direct bs=4k count=1 skip=10240 status=none 2>/dev/null'
	check "cut: a read across the end fails" "it succeeded" \
		eval '! dd if="$device" of=/dev/null iflag=direct,skip_bytes bs=8k count=1 skip=$(((8 << 20) - 4096)) status=none 2>/dev/null'
	check "cut: a write behind the end fails" "it succeeded" \
		eval '! dd if=/dev/zero of="$device" oflag=direct bs=4k count=1 seek=10240 status=none 2>/dev/null'
	equal "cut: the file is not made long again" $((8 << 20)) "$(stat -c %s "$image")"
	truncate -s 64M "$image"
	check "cut: what was lost is not read as zeroes" "it is" \
		eval '! dd if="$device" of=/dev/null iflag=direct bs=4k count=1 skip=10240 status=none 2>/dev/null'
	equal "cut: what is left is what it was" "$wanted" \
		"$(dd if="$device" iflag=direct bs=1M count=8 status=none | sha256sum)"
	stop
	equal "cut: the daemon lives and ends in order" 0 $?
	check "cut: it is logged with the remedy" "$(cat "$err")" grep -q "was cut to 8388608 bytes" "$err"
else
	not_ok "cut: serve" "not ready"
fi

# Two daemons do not write to the same part of a file.
serve "name=disk0,source=file:$image,size=32M"
first=$pid
refused "file: a part that another daemon serves is refused" "in use.*force" \
	--control "$work/other" --export "name=disk1,source=file:$image"
pid=$first
stop
refused "a mounted device is refused" "/dev/nvme1n1 is in use.*mounted.*force" \
	--export name=disk0,source=file:/dev/nvme1n1
umount "$mnt"

# A file system with neither O_DIRECT nor holes: through the page cache, zeroes are written.
mount -t ramfs ramfs "$mnt" && truncate -s 32M "$image"
if serve "name=disk0,source=file:$image"; then
	check "page cache: said once, with the remedy" "$(cat "$err")" \
		eval '[ "$(wc -l <"$err")" = 1 ] && grep -q "page cache.*O_DIRECT.*ext4" "$err"'
	check "page cache: verify bs=4k" "fio is not content" verify 4k 4m
	dd if=/dev/urandom of="$device" oflag=direct bs=1M count=8 status=none
	equal "page cache: what is on the disk is in the file" \
		"$(dd if="$device" iflag=direct bs=1M status=none | sha256sum)" "$(sha256sum <"$image")"
	blkdiscard "$device" 2>/dev/null && not_ok "page cache: no discard is offered" "one was taken"
	blkdiscard -z --offset 1M --length 3M "$device"
	check "page cache: zeroed blocks read as zeroes" "they do not" zeroes "$device" 1 3
	check "page cache: and no others" "others are zeroes" eval '! zeroes "$device" 4 1'
	stop
	equal "page cache: no errors" 0 "$(value errors "$(done_line)")"
else
	not_ok "page cache: serve" "not ready"
fi
umount "$mnt"

# A block device: the same commands reach it as from a disk of its own.
nvme_count
if serve name=disk0,source=file:/dev/nvme0n1; then
	equal "block: size" "$(blockdev --getsize64 /dev/nvme0n1)" "$(value size "$(cat "$out")")"
	equal "block: blocks" 512 "$(blockdev --getss "$device")"
	check "block: verify bs=512" "fio is not content" verify 512 1m
	check "block: verify bs=4k" "fio is not content" verify 4k 4m
	check "block: verify bs=256k" "fio is not content" verify 256k 8m
	dd if=/dev/urandom of="$device" oflag=direct bs=1M count=16 status=none
	nvme_count
	blkdiscard --offset 4M --length 4M "$device"
	check "block: a discard is a discard (dataset management)" "no such command" \
		test "$(nvme_counted 9)" -gt 0
	check "block: discarded blocks read as zeroes on this device" "they do not" zeroes "$device" 4 4
	blkdiscard -z --offset 8M --length 4M "$device"
	check "block: zeroed blocks read as zeroes" "they do not" zeroes "$device" 8 4
	check "block: and no others" "others are zeroes" eval '! zeroes "$device" 12 4'
	nvme_count
	dd if=/dev/zero of="$device" bs=4k count=1 conv=fsync,notrunc status=none
	check "block: a flush reaches the device" "none did" test "$(nvme_counted 0)" -gt 0
	check "block: held, so that nothing mounts it" "it was mounted" \
		eval '! mount /dev/nvme0n1 "$mnt" 2>/dev/null'
	stop
	equal "block: no errors" 0 "$(value errors "$(done_line)")"
else
	not_ok "block: serve" "not ready"
fi
refused "block: one namespace by two ways is refused" "in use" \
	--export name=a,source=nvme:/dev/ng0n1 --export name=b,source=file:/dev/nvme0n1

first_bytes() {
	dd if=/dev/nvme0n1 iflag=direct bs=1M count=16 status=none | sha256sum
}
before=$(first_bytes)
if serve name=disk0,source=file:/dev/nvme0n1,read-only; then
	equal "block: read-only" 1 "$(blockdev --getro "$device")"
	dd if=/dev/zero of="$device" oflag=direct bs=4k count=1 2>/dev/null &&
		not_ok "block: read-only refuses a write" "it was taken"
	blkdiscard "$device" 2>/dev/null && not_ok "block: read-only refuses a discard" "it was taken"
	stop
	equal "block: read-only leaves it as it was" "$before" "$(first_bytes)"
fi

# Memory.
if serve name=disk0,source=mem:64M,queues=2; then
	check "mem: verify bs=4k" "fio is not content" verify 4k 4m
	check "mem: verify bs=1m, two jobs" "fio is not content" \
		verify 1m 8m --numjobs=2 --offset_increment=32m
	dd if=/dev/urandom of="$device" oflag=direct bs=1M count=8 status=none
	blkdiscard --offset 1M --length 2M "$device"
	check "mem: discarded blocks read as zeroes" "they do not" zeroes "$device" 1 2
	check "mem: and no others" "others are zeroes" eval '! zeroes "$device" 3 1'
	stop
	equal "mem: no errors" 0 "$(value errors "$(done_line)")"
	serve name=disk0,source=mem:64M
	check "mem: a new daemon begins with zeroes" "it does not" zeroes "$device" 0 8
	stop
else
	not_ok "mem: serve" "not ready"
fi
equal "nothing left behind" "vduse=0 hugepages=512 vdpa=0 disks=0 processes=0 sockets=0" "$(leftovers)"
