/* SPDX-License-Identifier: MIT */
#include <penstock/version.h>

const char *pst_version(void)
{
	return PST_VERSION_STRING;
}
