# SPDX-License-Identifier: MIT
# lab: --kernel 6.12
# An application built against an installed copy, with pkg-config alone, exports its own device on its
# own hugepages.
. tests/lab/lib.sh

prefix=$work/prefix
if ! DESTDIR=$prefix meson install -C build --no-rebuild >"$work/install" 2>&1; then
	not_ok "the library installs" "$(tail -n 3 "$work/install")"
	exit
fi
pc=$(find "$prefix" -name penstock.pc)
export PKG_CONFIG_PATH=${pc%/*} PKG_CONFIG_SYSROOT_DIR=$prefix
# shellcheck disable=SC2046 # flags are words
check "it builds with pkg-config alone" "see above" \
	gcc -Wall -Wextra -Werror examples/own-device.c $(pkg-config --cflags --libs penstock) -o "$work/own-device"
export LD_LIBRARY_PATH=${pc%/pkgconfig/*}
ulimit -l unlimited
"$work/own-device" own0 64 >"$work/own.out" 2>"$work/own.err" &
pid=$!
wait_for 20 grep -q ^ready "$work/own.out"
ready=$(cat "$work/own.out" "$work/own.err")
device=$(value device "$ready")
equal "its hugepages are the user memory" $((64 << 20)) "$(value umem "$ready")"
check "verify on its device" "fio is not content" verify 4k 8m
check "verify on its device, long requests" "fio is not content" verify 1m 8m
equal "its serial is seen" own-memory "$(cat "/sys/block/${device#/dev/}/serial")"
stop
equal "it ends in order" 0 $?
equal "no errors" 0 "$(value errors "$(grep ^done "$work/own.out")")"
equal "nothing left behind" "vduse=0 hugepages=512 vdpa=0 disks=0 processes=0 sockets=0" "$(leftovers)"
