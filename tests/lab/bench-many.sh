# SPDX-License-Identifier: MIT
# full
# lab: --bare --nvme size=4M,count=24
# penstock bench on 24 namespaces at once. In which order they come up does not matter here.
. tests/lab/lib.sh

bench=("${PENSTOCK:-penstock}" bench)
modprobe nvme
echo 64 >/proc/sys/vm/nr_hugepages
if ! wait_for 60 test -e /dev/ng0n24; then
	not_ok "24 namespaces" "they did not come up"
	exit
fi

# runs NAME ARG...: no errors, no notes but that of the shares; sets $least and $most
runs() {
	local name=$1 note
	shift
	if ! "${bench[@]}" /dev/ng0n{1..24} --rounds 1 --time 1 --bs 512 --json "$work/b.json" "$@" >"$work/out" 2>"$work/err"; then
		not_ok "$name" "exit status $?: $(cat "$work/err")"
		return
	fi
	equal "$name: no errors" 0 "$(jq '[.results[].errors] | add' "$work/b.json")"
	note=$(jq -r '.results[0].notes[] | select(test("on each of 24"))' "$work/b.json")
	least=$(sed -n 's/.*: \([0-9]*\) to .*/\1/p' <<<"$note")
	most=$(sed -n 's/.* to \([0-9]*\)$/\1/p' <<<"$note")
	# Six devices of a thread take turns; the threads share two processors as the scheduler likes.
	check "$name: each gets its share" "$note" test $((least * 3)) -ge "$most"
}

runs "24 namespaces on 4 threads" --threads 4 --modes async+fixed --qd 24
runs "24 namespaces on 4 threads, block nodes" --threads 4 --modes block+fixed --qd 24
runs "24 namespaces on 1 thread" --threads 1 --modes async+fixed --qd 128
check "within a thread the shares are equal" "$least to $most" test $((most - least)) -le $((most / 20 + 12))
runs "24 namespaces on 3 threads at depth 1" --threads 3 --modes sync --qd 1
