# SPDX-License-Identifier: MIT
# The verbs without a daemon: help, exit status, one sentence; and the man page knows what they take.
set -u
penstock=${PENSTOCK:-build/src/cli/penstock}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
rc=0

not_ok() {
	echo "not ok $1: $2"
	rc=1
}

# helps VERB...: --help says how the verb is used, on stdout
helps() {
	"$penstock" "$@" --help >"$dir/out" 2>"$dir/err"
	if [ $? -eq 0 ] && grep -q '^usage: penstock' "$dir/out" && [ ! -s "$dir/err" ]; then
		echo "ok help of penstock $*"
	else
		not_ok "help of penstock $*" "$(cat "$dir/out" "$dir/err")"
	fi
}

# refuses STATUS WORD ARG...: one sentence with that word on stderr, nothing on stdout
refuses() {
	local wanted=$1 word=$2 status
	shift 2
	"$penstock" "$@" >"$dir/out" 2>"$dir/err"
	status=$?
	if [ $status -eq "$wanted" ] && [ ! -s "$dir/out" ] && [ "$(wc -l <"$dir/err")" -eq 1 ] &&
		grep -q '^penstock: ' "$dir/err" && grep -qF -- "$word" "$dir/err"; then
		echo "ok penstock $* ends with $wanted"
	else
		not_ok "penstock $* ends with $wanted" "$status: $(cat "$dir/out" "$dir/err")"
	fi
}

helps
helps serve
helps export
helps stats
if [ "$("$penstock" --version)" = "penstock $(sed -n "s/^ *version: '\(.*\)',/\1/p" meson.build)" ]; then
	echo "ok version is that of the project"
else
	not_ok "version is that of the project" "$("$penstock" --version)"
fi
if "$penstock" export --help | grep -q umem-cycle; then
	not_ok "the test hook is not in the help" "it is"
else
	echo "ok the test hook is not in the help"
fi
if "$penstock" --help >/dev/full 2>"$dir/err"; then
	not_ok "a full disk is noticed" "exit status 0"
else
	echo "ok a full disk is noticed"
fi

refuses 2 "penstock --help"
refuses 2 frobnicate frobnicate
refuses 2 --frobnicate --frobnicate
refuses 2 "penstock serve --help" serve --frobnicate
refuses 2 "-x" serve -x
refuses 2 --workers serve --workers
refuses 2 "1 to 64" serve --workers 0
refuses 2 --log-level serve --log-level loud
refuses 2 "text or json" serve --log-format xml
refuses 2 "one too many" serve disk0
refuses 2 "add --export" serve
refuses 2 "list" export
refuses 2 "frobnicate" export frobnicate
refuses 2 "NAME" export del
refuses 2 "one too many" export list disk0
refuses 2 "one too many" export del disk0 disk1
refuses 2 "leave it out" export list --force
refuses 2 "takes no value" export list --json=yes
refuses 2 "one too many" stats disk0
for verb in "export list" "export del disk0" stats; do
	# shellcheck disable=SC2086 # verb is two or three words
	refuses 1 "penstock serve" $verb --control "$dir/none"
done

# Every key and option that --help names is in the man page.
for word in $("$penstock" serve --help | grep -oE '^  (--)?[a-z-]+' | sort -u); do
	if ! grep -qE "^\*$word" docs/man/penstock.1.scd && ! grep -qE ", \*$word=" docs/man/penstock.1.scd; then
		not_ok "the man page explains $word" "it does not"
		missing=yes
	fi
done
[ -n "${missing:-}" ] || echo "ok the man page explains all that serve takes"
exit $rc
