# SPDX-License-Identifier: MIT
# lab: --kernel 6.12 --timeout 900
# full
# An export behaves as a disk does: discard, zeroes, file systems, partitions, device mapper, read-only,
# flushes, and use from inside a container.
. tests/lab/lib.sh

host_blocks() {
	# Blocks of the backing file cannot be seen from here; what the namespace uses can (NUSE).
	nvme id-ns /dev/nvme0n1 -o json | python3 -c 'import json,sys; print(json.load(sys.stdin)["nuse"])'
}
sum() {
	dd if="$1" iflag=direct bs=1M count=64 status=none | sha256sum | cut -d' ' -f1
}
zeroes=$(head -c 1048576 /dev/zero | sha256sum | cut -d' ' -f1)
range() {
	dd if="$device" iflag=direct bs=1M skip="$1" count=1 status=none | sha256sum | cut -d' ' -f1
}

serve name=disk0,source=nvme:/dev/ng0n1,serial=S3R1AL || exit 1
sys=/sys/block/${device#/dev/}
equal "lsblk shows the sizes" "512 512 0 1G" "$(lsblk -dno LOG-SEC,PHY-SEC,RO,DISC-MAX "$device" | xargs)"
equal "the serial" S3R1AL "$(cat "$sys/serial")"
equal "a write-back cache" "write back" "$(cat "$sys/queue/write_cache")"

dd if=/dev/urandom of="$device" oflag=direct bs=1M count=64 status=none
before=$(range 4)$(range 6)
check "blkdiscard" "it failed" blkdiscard -o 5M -l 1M "$device"
equal "blkdiscard leaves what is beside" "$before" "$(range 4)$(range 6)"
check "blkdiscard -z" "it failed" blkdiscard -z -o 8M -l 1M "$device"
equal "zeroes read back" "$zeroes" "$(range 8)"
check "fallocate zeroes" "it failed" fallocate --zero-range -o 10M -l 1M "$device"
equal "zeroed range reads back" "$zeroes" "$(range 10)"
check "blockdev --flushbufs" "it failed" blockdev --flushbufs "$device"
check "blkdiscard of all" "it failed" blkdiscard -f "$device"

check "mkfs.xfs" "it failed" mkfs.xfs -q -f "$device"
mkdir -p "$work/mnt"
mount "$device" "$work/mnt" && cp -a /usr/include/linux "$work/mnt/"
umount "$work/mnt" && mount "$device" "$work/mnt"
check "a tree on xfs" "it differs" diff -r /usr/include/linux "$work/mnt/linux"
umount "$work/mnt"

mkfs.ext4 -q -F "$device" && mount "$device" "$work/mnt"
head -c 33554432 /dev/urandom >"$work/mnt/big" && sync && rm "$work/mnt/big"
check "fstrim on ext4" "it failed" fstrim "$work/mnt"
umount "$work/mnt"

printf 'size=128MiB\nsize=64MiB\n' | sfdisk -q --wipe always "$device" >/dev/null 2>&1
check "partitions" "$(lsblk "$device")" wait_for 5 test -b "${device}2"
whole=$device
device=${whole}2
check "verify on a partition" "fio is not content" verify 4k 2m
device=$whole

sfdisk -q --delete "$device"
# The namespace behind the export shows the same label: only the export is to be looked at.
export LVM_SUPPRESS_FD_WARNINGS=1
lvm() {
	command "$1" --config "devices { filter=[\"a|^$whole\$|\",\"r|.*|\"] use_devicesfile=0 }" -qq "${@:2}"
}
if lvm pvcreate -ff -y "$device" && lvm vgcreate lab "$device" && lvm lvcreate -y -Wn -Zn -L 64M -n data lab &&
	{ lvm vgmknodes lab; test -b /dev/lab/data || dmsetup mknodes; }; then
	device=$(ls /dev/lab/data /dev/mapper/lab-data 2>/dev/null | head -n 1)
	check "verify on LVM" "fio is not content" verify 4k 2m
	device=$whole
	lvm vgremove -f lab && lvm pvremove "$device"
else
	not_ok "LVM" "no volume"
fi
printf secret | cryptsetup -q luksFormat --pbkdf pbkdf2 --pbkdf-force-iterations 1000 --key-file=- "$device" &&
	printf secret | cryptsetup open --key-file=- "$device" sealed
if [ -b /dev/mapper/sealed ]; then
	device=/dev/mapper/sealed
	check "verify on dm-crypt" "fio is not content" verify 4k 2m
	device=$whole
	cryptsetup close sealed
else
	not_ok "dm-crypt" "no mapping"
fi

# Inside a container-like namespace: the node bind-mounted in, ext4 mounted there.
mkfs.ext4 -q -F "$device"
cat >"$work/inside" <<'END'
set -e
mkdir -p /run/box && mount -t tmpfs box /run/box && touch /run/box/disk
mount --bind "$1" /run/box/disk
mkdir /run/box/mnt && mount /run/box/disk /run/box/mnt
head -c 4000000 /dev/urandom >/run/box/mnt/data
sha256sum /run/box/mnt/data >/run/box/sum
umount /run/box/mnt && mount /run/box/disk /run/box/mnt
sha256sum -c --quiet /run/box/sum
umount /run/box/mnt
END
check "used inside a container" "see above" unshare --mount --pid --fork bash "$work/inside" "$device"

# What the kernel sends as flushes is what the host sent.
nvme_count
sent=0
for _ in $(seq 25); do
	python3 -c 'import os,sys; f=os.open(sys.argv[1], os.O_RDWR); os.pwrite(f, os.urandom(4096), 0); os.fsync(f)' "$device" && sent=$((sent + 1))
done
flushed=$(nvme_counted 0)
stop
equal "flushes sent are flushes counted" "$(value flushes "$(grep ^done "$out")")" "$(($(value flushes "$(grep ^done "$out")") - sent + flushed))"
equal "no errors" 0 "$(value errors "$(grep ^done "$out")")"

# Read-only.
dd if=/dev/urandom of=/dev/nvme0n1 oflag=direct bs=1M count=64 status=none
before=$(sum /dev/nvme0n1)
serve name=disk0,source=nvme:/dev/ng0n1,read-only || exit 1
equal "read-only: the host knows" 1 "$(lsblk -dno RO "$device" | xargs)"
equal "read-only: it reads" "$before" "$(sum "$device")"
check "read-only: no write" "it was written" bash -c "! dd if=/dev/zero of=$device oflag=direct bs=4k count=1 status=none 2>/dev/null"
check "read-only: no discard" "it was discarded" bash -c "! blkdiscard -f $device 2>/dev/null"
check "read-only: no zeroing" "it was zeroed" bash -c "! blkdiscard -f -z $device 2>/dev/null"
# The host may be told otherwise: the daemon refuses all the same.
blockdev --setrw "$device" 2>/dev/null
dd if=/dev/zero of="$device" oflag=direct bs=4k count=1 status=none 2>/dev/null
stop
equal "read-only: nothing was changed" "$before" "$(sum /dev/nvme0n1)"
equal "read-only: no errors" 0 "$(value errors "$(grep ^done "$out")")"

# Slices side by side, and two that overlap.
serve name=s0,source=nvme:/dev/ng0n1,size=64M --export name=s1,source=nvme:/dev/ng0n1,offset=64M,size=64M \
	--export name=s2,source=nvme:/dev/ng0n1,offset=128M,size=64M --export name=s3,source=nvme:/dev/ng1n1,size=64M
rest=$(dd if=/dev/nvme0n1 iflag=direct bs=1M skip=192 count=16 status=none | sha256sum)
for n in 0 1 2 3; do
	(
		device=$(value device "$(grep "^ready name=s$n " "$out")")
		work=$work/s$n
		mkdir "$work"
		verify 4k 4m >"$work/log" 2>&1 || touch "$work/failed"
	) &
	verifiers[n]=$!
done
wait "${verifiers[@]}"
equal "four slices verify side by side" "" "$(cat "$work"/s*/log)"
check "none of them failed" "$(ls "$work"/s*/failed 2>/dev/null)" bash -c "! ls $work/s*/failed 2>/dev/null"
stop
equal "nothing written outside the slices" "$rest" "$(dd if=/dev/nvme0n1 iflag=direct bs=1M skip=192 count=16 status=none | sha256sum)"
equal "nothing left behind" "vduse=0 hugepages=512 vdpa=0 disks=0 processes=0 sockets=0" "$(leftovers)"
