/* SPDX-License-Identifier: MIT */
/**
 * DOC: penstock/version.h - the version of the library
 */
#ifndef PENSTOCK_VERSION_H
#define PENSTOCK_VERSION_H

#ifdef __cplusplus
extern "C" {
#endif

#define PST_VERSION_MAJOR 0
#define PST_VERSION_MINOR 1
#define PST_VERSION_PATCH 0
#define PST_VERSION_STRING "0.1.0"

/**
 * pst_version() - version of the library that is loaded
 *
 * Return: a static string "MAJOR.MINOR.PATCH". Any thread.
 */
const char *pst_version(void);

#ifdef __cplusplus
}
#endif

#endif
