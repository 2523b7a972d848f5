# SPDX-License-Identifier: MIT
# lab: --kernel 6.12
# What is written through an export lies on the namespace byte for byte, and the other way round; from
# memory of any alignment that O_DIRECT permits.
. tests/lab/lib.sh

# sum DEVICE BYTES
sum() {
	dd if="$1" iflag=direct bs=1M count=$(($2 >> 20)) status=none | sha256sum | cut -d' ' -f1
}

pattern=$work/pattern
openssl rand -out "$pattern" $((16 << 20)) 2>/dev/null || head -c $((16 << 20)) /dev/urandom >"$pattern"
wanted=$(sha256sum <"$pattern" | cut -d' ' -f1)

for n in 0 1; do
	disk=nvme${n}n1
	serve "name=disk0,source=nvme:/dev/ng${n}n1" || exit 1
	dd if="$pattern" of="$device" oflag=direct bs=256k status=none
	stop
	equal "$disk: written through the export is on the namespace" "$wanted" "$(sum /dev/$disk $((16 << 20)))"

	dd if=/dev/zero of=/dev/$disk oflag=direct bs=1M count=16 status=none
	dd if="$pattern" of=/dev/$disk oflag=direct bs=1M seek=1 count=15 status=none
	serve "name=disk0,source=nvme:/dev/ng${n}n1" || exit 1
	equal "$disk: written to the namespace is seen through the export" \
		"$(sum /dev/$disk $((16 << 20)))" "$(sum "$device" $((16 << 20)))"
	for offset in 512 4096 0 1024 3584; do
		check "$disk: O_DIRECT from memory at offset $offset" "data differs" \
			python3 tests/lab/direct_offset.py "$device" "$offset"
	done
	stop
	equal "$disk: no errors" 0 "$(value errors "$(grep ^done "$out")")"
done
