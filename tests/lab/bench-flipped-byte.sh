# SPDX-License-Identifier: MIT
# host
# One byte that changes on the backing file between two boots is found, and named to the word.
cd "$(dirname "$0")/../.." || exit 1

disks=$(mktemp -d)
trap 'rm -rf "$disks"' EXIT
export LAB_KEEP_DISKS=$disks
failures=0

say() {
	if [ "$2" = 0 ]; then echo "ok $1"; else
		failures=1
		echo "not ok $1: $(tail -n 3 "$disks/log" | tr '\n' ' ')"
	fi
}

# in_lab ARG...: penstock bench on one small namespace
in_lab() {
	lab/run --nvme size=8M -- "${PENSTOCK:-penstock}" bench /dev/ng0n1 --modes async+fixed --rounds 1 --time 0 --qd 32 \
		--verify --seed 5 "$@" >"$disks/log" 2>&1
}

in_lab --rw write --bs 64k --allow-write
say "a namespace is stamped" $?
at=5000003
byte=$(od -An -tu1 -j$at -N1 "$disks/nvme0n1")
# shellcheck disable=SC2059 # the octal escape is the format
printf "\\$(printf %03o $((byte ^ 16)))" | dd of="$disks/nvme0n1" bs=1 seek=$at conv=notrunc status=none
in_lab --rw read --bs 4k
[ $? = 1 ] && grep -q "1 I/Os failed.*the word at 5000000 differs" "$disks/log"
say "the flipped byte is found" $?
exit $failures
