# SPDX-License-Identifier: MIT
# lab: --kernel 6.12 --timeout 600
# lab-full: --kernel next --timeout 600
# The driver comes and goes, the daemon comes and goes, and nothing stays behind.
. tests/lab/lib.sh

clean=$(leftovers)
serve name=disk0,source=nvme:/dev/ng0n1,queues=2 || exit 1
virtio=$(basename /sys/bus/vdpa/devices/disk0/virtio*)
descriptors=$(find /proc/$pid/fd -mindepth 1 | wc -l)
# Twenty with --full: a round takes five seconds in the guest.
wanted=8
[ "$PENSTOCK_FULL" = 1 ] && wanted=20
rounds=0
for _ in $(seq $wanted); do
	verify 4k 512k || break
	echo "$virtio" >/sys/bus/virtio/drivers/virtio_blk/unbind
	[ ! -e "$device" ] || break
	echo "$virtio" >/sys/bus/virtio/drivers/virtio_blk/bind
	wait_for 5 test -b "$device" || break
	rounds=$((rounds + 1))
done
equal "$wanted rounds of unbind and bind with a verify between" $wanted $rounds
equal "the daemon has as many descriptors as before" "$descriptors" "$(find /proc/$pid/fd -mindepth 1 | wc -l)"

# Unbound under load: what reached the daemon completes, the rest fails in the host, nothing hangs.
fio --name=load --filename="$device" --allow_file_create=0 --direct=1 --ioengine=io_uring --iodepth=64 \
	--rw=randwrite --bs=4k --size=256m --time_based --runtime=20 >"$work/load" 2>&1 &
load=$!
sleep 1
timeout 20 sh -c "echo $virtio >/sys/bus/virtio/drivers/virtio_blk/unbind"
equal "unbinding under load returns" 0 $?
wait $load
echo "$virtio" >/sys/bus/virtio/drivers/virtio_blk/bind
wait_for 5 test -b "$device"
check "verify after unbinding under load" "fio is not content" verify 4k 1m
stop
equal "exit status after SIGTERM" 0 $?
equal "no errors" 0 "$(value errors "$(grep ^done "$out")")"
equal "nothing left behind" "$clean" "$(leftovers)"

rounds=0
for _ in $(seq 5); do
	serve name=disk0,source=nvme:/dev/ng0n1 && verify 4k 1m && stop && rounds=$((rounds + 1))
done
equal "five rounds of serve and SIGTERM" 5 $rounds
equal "nothing left behind after five" "$clean" "$(leftovers)"

# attach=no: somebody else attaches and detaches.
serve name=disk1,source=nvme:/dev/ng0n1,attach=no
equal "ready without attaching" - "$device"
vdpa dev add name disk1 mgmtdev vduse
device=/dev/$(basename /sys/bus/vdpa/devices/disk1/virtio*/block/*)
check "verify on a device that was attached by hand" "fio is not content" verify 4k 1m
vdpa dev del disk1
stop
equal "attach=no leaves nothing behind" "$clean" "$(leftovers)"

# SIGTERM with 64 requests in flight on a device in use: what reached the daemon completes, and the
# host has seen exactly that many completions.
serve name=disk0,source=nvme:/dev/ng0n1 || exit 1
number=$(lsblk -dno MAJ:MIN "$device" | tr -d ' ')
dev=$(((${number%:*} << 20) | ${number#*:}))
echo "hist:keys=dev" >$tracing/events/block/block_rq_complete/trigger
before=$(($(cut -d' ' -f1 </proc/uptime | tr -d .) * 10))
base=$(awk '{print $1 + $5}' "/sys/block/${device#/dev/}/stat")
fio --name=load --filename="$device" --allow_file_create=0 --direct=1 --ioengine=io_uring --iodepth=64 \
	--rw=randrw --bs=4k --norandommap --size=256m --time_based --runtime=60 >"$work/load" 2>&1 &
load=$!
sleep 2
stop
status=$?
took=$(($(cut -d' ' -f1 </proc/uptime | tr -d .) * 10 - before - 2000))
equal "SIGTERM under load: exit status" 0 $status
check "SIGTERM under load: it says who uses the device" "$(cat "$err")" grep -q "in use.*fio" "$err"
done=$(grep ^done "$out")
completed=$(($(value reads "$done") + $(value writes "$done")))
sleep 0.5
seen=$(sed -n "s/^{ dev: *$dev } hitcount: *\([0-9]*\).*/\1/p" $tracing/events/block/block_rq_complete/hist)
# The partition scan came before the counter was switched on.
equal "SIGTERM under load: the host saw every completion" $((completed - base)) "${seen:-0}"
equal "SIGTERM under load: no errors" 0 "$(value errors "$done")"
check "the device stays attached" "it is gone" test -e /dev/vduse/disk0 -a -b "$device"
echo "note: SIGTERM under load took $took ms, of $completed requests"
kill -KILL $load
# At power-off the kernel resets the device and waits for an answer that nobody gives.
echo 1 >/sys/class/vduse/disk0/msg_timeout
