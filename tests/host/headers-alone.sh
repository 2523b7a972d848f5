# SPDX-License-Identifier: MIT
# Each public header compiles alone, as C and as C++, and pedantically.
rc=0
for header in include/penstock/*.h; do
	for how in "gcc -x c -std=c11" "g++ -x c++ -std=c++17"; do
		if echo "#include <penstock/${header##*/}>" |
			$how -fsyntax-only -Wall -Wextra -Werror -Iinclude -; then
			echo "ok ${header##*/} alone with ${how%% *}"
		else
			echo "not ok ${header##*/} alone with ${how%% *}: see above"
			rc=1
		fi
	done
done
exit $rc
