# SPDX-License-Identifier: MIT
# lab: --kernel 6.12 --poll-queues 1
# NVMe completions polled for, on a ring of their own.
. tests/lab/lib.sh

for spec in queues=1 queues=2,busy-poll=off; do
	serve "name=disk0,source=nvme:/dev/ng0n1,nvme-poll=on,$spec" || { not_ok "polled, $spec" "not ready"; continue; }
	check "polled, $spec: verify" "fio is not content" verify 4k 4m
	check "polled, $spec: verify long requests" "fio is not content" verify 1m 8m
	mkfs.ext4 -q -F "$device"
	check "polled, $spec: a file system" "it is not clean" e2fsck -fn "$device"
	stop
	equal "polled, $spec: no errors" 0 "$(value errors "$(grep ^done "$out")")"
done
equal "nothing left behind" "vduse=0 hugepages=512 vdpa=0 disks=0 processes=0 sockets=0" "$(leftovers)"
