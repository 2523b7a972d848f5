# SPDX-License-Identifier: MIT
# lab: --kernel 6.12 --cpus 4 --timeout 900
# lab: --kernel next --cpus 4 --timeout 900
# Data written through an export is read back the same: block size, queues, namespace, indirect
# descriptors. Eight rows cover all pairs with the kernels; two more are of the commonest size. The
# whole matrix is for --full.
. tests/lab/lib.sh

case_of() {
	local bs=$1 queues=$2 node=$3 indirect=$4 name total opened fixed
	name="verify bs=$bs queues=$queues $node indirect=$indirect kernel=$LAB_KERNEL"
	nvme_count
	if ! serve "name=disk0,source=nvme:/dev/$node,queues=$queues,indirect=$indirect"; then
		not_ok "$name" "not served"
		return
	fi
	opened=$(value queues "$(cat "$out")")
	# With several jobs the driver uses its queues from all CPUs.
	if ! verify "$bs" 4m --numjobs="$queues" --size="$((16 / queues))m" --offset_increment=64m; then
		not_ok "$name" "fio is not content"
		stop
		return
	fi
	stop || not_ok "$name" "exit status $?"
	done=$(grep '^done' "$out")
	fixed=$(value fixed "$done")
	total=$((fixed + $(value unfixed "$done")))
	equal "$name: no errors" 0 "$(value errors "$done")"
	equal "$name: queues" "$queues" "$opened"
	[ "$bs" = 4k ] && equal "$name: all fixed" 0 "$(value unfixed "$done")"
	equal "$name: the kernel counted the same commands" "$total" "$(nvme_counted 1 2)"
	ok "$name"
}

if [ "$PENSTOCK_FULL" = 1 ]; then
	for node in ng0n1 ng1n1; do
		for bs in 512 4k 60k 1m; do
			[ $bs$node = 512ng1n1 ] && continue
			for queues in 1 4; do
				for indirect in on off; do
					case_of $bs $queues $node $indirect
				done
			done
		done
	done
elif [ "$LAB_KERNEL" = next ]; then
	case_of 512 4 ng0n1 off
	case_of 4k 1 ng0n1 off
	case_of 60k 1 ng1n1 on
	case_of 1m 4 ng0n1 on
	case_of 4k 4 ng0n1 on
else
	case_of 512 1 ng0n1 on
	case_of 4k 4 ng1n1 on
	case_of 60k 4 ng0n1 off
	case_of 1m 1 ng1n1 off
	case_of 4k 1 ng1n1 off
fi
