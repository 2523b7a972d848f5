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
grep -oE 'static inline [a-z_ ]+\*?pst_[a-z0-9_]+' "$dir/all.i" | grep -oE 'pst_[a-z0-9_]+$' | sort -u >"$dir/inline"
comm -23 "$dir/names" "$dir/inline" >"$dir/declared"
# From the map's patterns and the objects: what a shared library made of them would export.
gcc -shared -o "$dir/lib.so" -Wl,--version-script=src/libpenstock.map -Wl,--whole-archive \
	$(find build/src -name 'libpst_*.a' | grep -vE 'daemon|bench') build/src/libpenstock.a -Wl,--no-whole-archive \
	$(pkg-config --libs liburing libnl-genl-3.0) -lpthread 2>"$dir/link" || cat "$dir/link"
nm -D --defined-only "$dir/lib.so" | awk '$2 == "T" {sub(/@.*/, "", $3); print $3}' | sort -u >"$dir/exported"
if [ -s "$dir/exported" ] && diff "$dir/declared" "$dir/exported"; then
	echo "ok exported names are the declared ones ($(wc -l <"$dir/exported"))"
else
	echo "not ok exported names are the declared ones: < declared, > exported"
	rc=1
fi
exit $rc
