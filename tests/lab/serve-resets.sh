# SPDX-License-Identifier: MIT
# lab: --kernel 6.12 --timeout 400
# Controller resets are not seen by the host; a namespace that goes away gives errors and no hang.
. tests/lab/lib.sh

rounds=5
[ "$PENSTOCK_FULL" = 1 ] && rounds=20
serve name=disk0,source=nvme:/dev/ng0n1,size=256M --export name=disk1,source=nvme:/dev/ng0n1,offset=256M,size=256M || exit 1
other=$(value device "$(grep 'name=disk1' "$out")")
[ -b "$other" ] || { not_ok "two slices are served" "no second device"; exit; }
mkfs.ext4 -q "$other"
mkdir -p "$work/mnt"
mount "$other" "$work/mnt"
(
	for n in $(seq 200); do
		head -c 65536 /dev/urandom >"$work/mnt/file$((n % 20))" && sync "$work/mnt/file$((n % 20))" || echo "$n" >>"$work/fs-errors"
		[ -e "$work/enough" ] && break
	done
) &
writer=$!
(
	for _ in $(seq $rounds); do
		sleep 0.5
		echo 1 >/sys/class/nvme/nvme0/reset_controller && echo reset >>"$work/resets"
	done
) &
resetter=$!
check "verify under $rounds controller resets" "fio is not content" \
	verify 4k 16m --time_based --runtime=$((rounds + 4))
wait $resetter
touch "$work/enough"
wait $writer
equal "controller resets done" $rounds "$(wc -l <"$work/resets")"
check "the file system beside it saw no error" "$(cat "$work/fs-errors" 2>/dev/null)" test ! -e "$work/fs-errors"
check "it is still mounted for writing" "$(grep "$other" /proc/mounts)" grep -q "^$other .* rw[, ]" /proc/mounts
umount "$work/mnt"
check "and its file system is clean" "see above" e2fsck -fn "$other"
stop
equal "no errors over the resets" "0 0" "$(value errors "$(grep '^done name=disk0' "$out")") $(value errors "$(grep '^done name=disk1' "$out")")"

# The namespace's controller is unplugged under load: errors soon, no hang, and the daemon lives.
serve name=disk0,source=nvme:/dev/ng1n1,timeout=5 --export name=disk1,source=nvme:/dev/ng0n1 || exit 1
other=$(value device "$(grep 'name=disk1' "$out")")
timeout 60 fio --name=gone --filename="$device" --allow_file_create=0 --direct=1 --ioengine=io_uring --iodepth=64 \
	--rw=randread --bs=4k --size=64m --time_based --runtime=40 >"$work/gone" 2>&1 &
load=$!
sleep 1
echo 1 >/sys/class/nvme/nvme1/device/remove
wait $load
status=$?
check "a namespace that goes away gives errors" "fio ended with 0" test $status -ne 0
check "fio ended with an I/O error" "$(tail -n 3 "$work/gone")" grep -q 'error=Input/output error\|err= 5' "$work/gone"
check "the daemon lives" "it ended" kill -0 $pid
device=$other
check "and serves the other export" "fio is not content" verify 4k 2m
stop
equal "and ends in order" 0 $?
equal "nothing left behind" "vduse=0 hugepages=512 vdpa=0 disks=0 processes=0 sockets=0" "$(leftovers)"
