# SPDX-License-Identifier: MIT
# The tree is formatted, and clang-tidy and shellcheck have no objection to it.
if scripts/lint build; then
	echo "ok lint is clean"
else
	echo "not ok lint is clean: see above"
	exit 1
fi
