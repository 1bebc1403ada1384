// SPDX-License-Identifier: Apache-2.0
// What libtiff is compiled with: the compressions that need no other library than zlib.
#pragma once

#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>

#define TIFF_INT16_T int16_t
#define TIFF_INT32_T int32_t
#define TIFF_INT64_T int64_t
#define TIFF_INT8_T int8_t
#define TIFF_UINT16_T uint16_t
#define TIFF_UINT32_T uint32_t
#define TIFF_UINT64_T uint64_t
#define TIFF_UINT8_T uint8_t
#define TIFF_SSIZE_T int32_t

#define CCITT_SUPPORT 1
#define DEFAULT_EXTRASAMPLE_AS_ALPHA 1
#define HAVE_IEEEFP 1
#define HOST_BIGENDIAN 0
#define HOST_FILLORDER FILLORDER_LSB2MSB
#define LZW_SUPPORT 1
#define PACKBITS_SUPPORT 1
#define STRIPCHOP_DEFAULT TIFF_STRIPCHOP
#define SUBIFD_SUPPORT 1
#define ZIP_SUPPORT 1
