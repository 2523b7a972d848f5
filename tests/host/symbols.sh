# SPDX-License-Identifier: MIT
# The shared library exports what the public headers declare, and nothing else.
set -u
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
rc=0
for header in include/penstock/*.h; do
	echo "#include <penstock/${header##*/}>"
done >"$dir/all.c"
gcc -E -P -Iinclude "$dir/all.c" >"$dir/all.i"
# Function names that are declared and not defined inline.
grep -oE '\bpst_[a-z0-9_]+ ?\(' "$dir/all.i" | tr -d ' (' | sort -u >"$dir/names"
grep -oE 'static inline [A-Za-z_ ]+\*?pst_[a-z0-9_]+' "$dir/all.i" | grep -oE 'pst_[a-z0-9_]+$' | sort -u >"$dir/inline"
comm -23 "$dir/names" "$dir/inline" >"$dir/declared"
nm -D --defined-only build/src/libpenstock.so | awk '$2 == "T" {sub(/@.*/, "", $3); print $3}' | sort -u >"$dir/exported"
if [ -s "$dir/exported" ] && diff "$dir/declared" "$dir/exported"; then
	echo "ok exported names are the declared ones ($(wc -l <"$dir/exported"))"
else
	echo "not ok exported names are the declared ones: < declared, > exported"
	rc=1
fi
exit $rc
