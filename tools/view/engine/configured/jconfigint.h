// SPDX-License-Identifier: Apache-2.0
// What libjpeg-turbo may use in a browser.
#pragma once

#define BUILD ""
#undef inline
#define INLINE inline
#define THREAD_LOCAL __thread
#define PACKAGE_NAME "libjpeg-turbo"
#define VERSION "2.1.5"
#define SIZEOF_SIZE_T __SIZEOF_SIZE_T__
#define HAVE_BUILTIN_CTZL
#define FALLTHROUGH __attribute__((fallthrough));
