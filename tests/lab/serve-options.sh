# SPDX-License-Identifier: MIT
# lab: --kernel 6.12
# Each feature off alone, a slice, and user memory that comes and goes under load.
. tests/lab/lib.sh

for option in umem=off fixed=off event-idx=off indirect=off busy-poll=off busy-poll=50 queue-size=16 \
	bounce=1M umem=on,fixed=on; do
	if serve "name=disk0,source=nvme:/dev/ng0n1,$option"; then
		ready=$(cat "$out")
		check "verify with $option" "fio is not content" verify 4k 8m
		stop
		equal "$option: no errors" 0 "$(value errors "$(grep ^done "$out")")"
		case $option in
		umem=off) equal "$option: no user memory" "0 no" "$(value umem "$ready") $(value fixed "$ready")" ;;
		fixed=off) equal "$option: nothing fixed" 0 "$(value fixed "$(grep ^done "$out")")" ;;
		esac
	else
		not_ok "serve with $option" "not ready"
	fi
done

# A slice: what lies around it is not touched.
dd if=/dev/urandom of=/dev/nvme0n1 oflag=direct bs=1M count=64 status=none
around() {
	{
		dd if=/dev/nvme0n1 iflag=direct bs=1M count=16 status=none
		dd if=/dev/nvme0n1 iflag=direct bs=1M skip=32 count=32 status=none
	} | sha256sum
}
before=$(around)
serve name=disk0,source=nvme:/dev/ng0n1,offset=16M,size=16M
equal "a slice has its size" $((16 << 20)) "$(value size "$(cat "$out")")"
check "verify a whole slice" "fio is not content" verify 64k 16m
stop
equal "nothing written around the slice" "$before" "$(around)"

# Deregistering and registering user memory while requests come.
serve name=disk0,source=nvme:/dev/ng0n1,queues=2
(
	for _ in $(seq 50); do
		penstock export umem-cycle disk0 >/dev/null 2>>"$work/cycle.err" && echo done >>"$work/cycles"
	done
) &
cycler=$!
check "verify while user memory is registered anew" "fio is not content" \
	verify 4k 8m --time_based --runtime=8 --loops=1
wait $cycler
equal "user memory was registered 50 times" 50 "$(wc -l <"$work/cycles")"
stop
equal "no errors while user memory came and went" 0 "$(value errors "$(grep ^done "$out")")"
equal "nothing left behind" "vduse=0 hugepages=512 vdpa=0 disks=0 processes=0 sockets=0" "$(leftovers)"
