# SPDX-License-Identifier: MIT
# full
# lab: --nvme size=16M,ms=8,mset=1 --nvme size=16M,ms=8,mset=0,pi=1 --nvme size=16M,ms=16,mset=0 --nvme size=16M,ms=8,mset=1,pi=1 --nvme size=32M,lba=4096
# penstock bench on namespaces with metadata and 4096-byte blocks: right data or a sentence.
. tests/lab/lib.sh

bench=("${PENSTOCK:-penstock}" bench)
pass=(--rounds 1 --time 0 --verify --qd 16 --bs 8k)

# good NAME ARG...
good() {
	local name=$1
	shift
	if "${bench[@]}" "$@" --json "$work/b.json" >"$work/out" 2>"$work/err"; then
		equal "$name" 0 "$(jq '[.results[].errors] | add' "$work/b.json")"
	else
		not_ok "$name" "exit status $?: $(cat "$work/err")"
	fi
}

refused() {
	local name=$1 words=$2
	shift 2
	"${bench[@]}" "$@" >"$work/out" 2>"$work/err"
	equal "$name" "1 1" "$? $(grep -c "$words" "$work/err")"
}

modes=sync,async,async+fixed
good "extended LBAs are written and read" /dev/ng0n1 --modes $modes "${pass[@]}" --rw write --allow-write
good "extended LBAs are read back" /dev/ng0n1 --modes $modes "${pass[@]}" --rw read
refused "extended LBAs have no block node" "no block node" /dev/ng0n1 --modes block --time 0.1
good "protection apart is made by the device" /dev/ng1n1 --modes $modes,block "${pass[@]}" --rw write --allow-write
good "protection apart is stripped by it" /dev/ng1n1 --modes $modes,block "${pass[@]}" --rw read
refused "metadata apart has no buffers" "16 bytes of metadata apart" /dev/ng2n1 --modes async --time 0.1
refused "protection within the data is not written" "interleaves protection" /dev/ng3n1 --modes async \
	--rw write --allow-write --time 0.1
good "protection within the data is read" /dev/ng3n1 --modes $modes --rw read --rounds 1 --time 0.1 --qd 4
good "4096-byte blocks are written" /dev/ng4n1 --modes $modes,block+fixed "${pass[@]}" --rw write --allow-write
good "4096-byte blocks are read back" /dev/ng4n1 --modes $modes,block+fixed "${pass[@]}" --rw read
