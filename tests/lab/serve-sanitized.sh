# SPDX-License-Identifier: MIT
# lab: --kernel 6.12 --timeout 600
# A round of everything under the address and undefined-behaviour sanitizers.
. tests/lab/lib.sh

export PENSTOCK=build-asan/src/cli/penstock
export ASAN_OPTIONS=detect_leaks=1:halt_on_error=1 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
for spec in name=disk0,source=nvme:/dev/ng0n1,queues=2 name=disk0,source=nvme:/dev/ng1n1,indirect=off \
	name=disk0,source=nvme:/dev/ng0n1,umem=off,event-idx=off name=disk0,source=null:64M; do
	if ! serve $spec; then
		not_ok "sanitized: $spec" "not ready"
		continue
	fi
	if [[ $spec != *null* ]]; then
		check "sanitized: verify, $spec" "fio is not content" verify 4k 2m
		check "sanitized: long requests, $spec" "fio is not content" verify 1m 4m
	fi
	$PENSTOCK export umem-cycle disk0 >/dev/null 2>&1
	$PENSTOCK stats --json >"$work/stats.json"
	check "sanitized: statistics, $spec" "no JSON" python3 -m json.tool "$work/stats.json" /dev/null
	stop
	equal "sanitized: exit status, $spec" 0 $?
	if grep -q -e 'Sanitizer' -e 'runtime error' "$err"; then
		not_ok "sanitized: no report, $spec" "$(head -n 30 "$err")"
	else
		ok "sanitized: no report, $spec"
	fi
done
# Ends in the middle of things: a source that is not there, a name twice.
for spec in name=disk0,source=nvme:/dev/ng9n9 name=disk0,source=nvme:/dev/ng0n1,offset=1; do
	$PENSTOCK serve --export $spec >"$work/o" 2>"$work/e"
	if grep -q -e 'Sanitizer' -e 'runtime error' "$work/e"; then
		not_ok "sanitized: refused, $spec" "$(head -n 30 "$work/e")"
	else
		ok "sanitized: refused, $spec"
	fi
done
