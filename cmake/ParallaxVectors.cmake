# SPDX-License-Identifier: Apache-2.0
# Sets parallax_disabled_vectors: the vector instructions, by Highway's names, that the library is not compiled for.
set(PARALLAX_VECTORS all CACHE STRING "Vector instructions to compile for: all, native (the narrowest, and the widest of this machine) or narrowest")
set_property(CACHE PARALLAX_VECTORS PROPERTY STRINGS all native narrowest)

# Highway always keeps the narrowest, which every processor has.
set(wider_vectors HWY_SSSE3 HWY_SSE4 HWY_AVX2 HWY_AVX3 HWY_AVX3_DL)
if(PARALLAX_VECTORS STREQUAL "all")
  set(parallax_disabled_vectors "")
elseif(PARALLAX_VECTORS STREQUAL "native")
  if(NOT DEFINED PARALLAX_WIDEST_VECTORS)
    try_run(
      PARALLAX_VECTORS_RUN PARALLAX_VECTORS_COMPILED SOURCES ${CMAKE_CURRENT_LIST_DIR}/vectors_here.cpp
      LINK_LIBRARIES hwy::hwy
      RUN_OUTPUT_VARIABLE vectors_here)
    if(NOT PARALLAX_VECTORS_RUN EQUAL 0)
      message(FATAL_ERROR "Cannot find out this machine's vector instructions: set PARALLAX_VECTORS=all\n${vectors_here}")
    endif()
    # Of those that are compiled for at all, the widest first.
    list(FILTER vectors_here INCLUDE REGEX "^(SSSE3|SSE4|AVX2|AVX3|AVX3_DL)$")
    list(POP_FRONT vectors_here widest)
    set(PARALLAX_WIDEST_VECTORS "${widest}" CACHE INTERNAL "The widest vector instructions of this machine")
  endif()
  set(parallax_disabled_vectors ${wider_vectors})
  list(REMOVE_ITEM parallax_disabled_vectors HWY_${PARALLAX_WIDEST_VECTORS})
elseif(PARALLAX_VECTORS STREQUAL "narrowest")
  set(parallax_disabled_vectors ${wider_vectors})
else()
  message(FATAL_ERROR "PARALLAX_VECTORS is ${PARALLAX_VECTORS}: set it to all, native or narrowest")
endif()
