# SPDX-License-Identifier: MIT
# lab: --kernel 6.12 --cpus 4 --timeout 900
# full
# The host does to the disk what it may under load: discards, scheduler changes, CPU hotplug. And packed
# rings, with a bounce region that is far too small for the load on split ones.
. tests/lab/lib.sh

load() {
	fio --name=load --filename="$device" --allow_file_create=0 --direct=1 --ioengine=io_uring --iodepth=32 --rw=randrw \
		--bs=4k --norandommap --size=128m --time_based --runtime="$1" --output="$work/load" >/dev/null 2>&1
}
clean_end() {
	stop
	equal "$1: no errors" 0 "$(value errors "$(grep ^done "$out")")"
}

serve name=disk0,source=nvme:/dev/ng0n1,queues=4 || exit 1
sys=/sys/block/${device#/dev/}
load 6 &
fio=$!
for _ in $(seq 40); do blkdiscard -f -o 256M -l 64M "$device" || echo failed >>"$work/discards"; sleep 0.1; done
wait $fio
equal "discards under load: fio's exit status" 0 $?
check "discards under load: all done" "some failed" test ! -e "$work/discards"

load 6 &
fio=$!
for n in $(seq 20); do
	for scheduler in none mq-deadline; do echo $scheduler >"$sys/queue/scheduler"; done
	echo $((64 + n)) >"$sys/queue/nr_requests"
	sleep 0.1
done
wait $fio
equal "schedulers switched under load: fio's exit status" 0 $?

load 8 &
fio=$!
for _ in $(seq 6); do
	for cpu in 3 2; do echo 0 >/sys/devices/system/cpu/cpu$cpu/online; sleep 0.3; done
	for cpu in 2 3; do echo 1 >/sys/devices/system/cpu/cpu$cpu/online; sleep 0.3; done
done
wait $fio
equal "CPUs unplugged under load: fio's exit status" 0 $?
check "verify after all that" "fio is not content" verify 4k 4m
clean_end "storm"

for spec in queues=1 queues=4 indirect=off event-idx=off umem=off; do
	serve "name=disk0,source=nvme:/dev/ng0n1,packed=on,$spec"
	equal "packed, $spec: in use" yes "$(value packed "$(cat "$out")")"
	check "packed, $spec: verify" "fio is not content" verify 4k 4m
	check "packed, $spec: verify long requests" "fio is not content" verify 1m 16m
	clean_end "packed, $spec"
done
serve name=disk0,source=nvme:/dev/ng0n1,bounce=1M || exit 1
check "split rings under bounce pressure: 1M x 64 x 4 jobs" "fio is not content" \
	verify 1m 16m --numjobs=4 --offset_increment=64m
clean_end "split rings under bounce pressure"
serve name=disk0,source=nvme:/dev/ng0n1,packed=on || exit 1
check "packed rings under bounce pressure: 1M x 64 x 4 jobs" "fio is not content" \
	verify 1m 32m --numjobs=4 --offset_increment=64m
clean_end "packed rings under bounce pressure"
equal "nothing left behind" "vduse=0 hugepages=512 vdpa=0 disks=0 processes=0 sockets=0" "$(leftovers)"
