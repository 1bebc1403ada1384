# SPDX-License-Identifier: Apache-2.0
# Sets parallax_vectors, the definitions that select the library's vector instructions, and parallax_all_vectors, those
# for a test of the others.
set(PARALLAX_VECTORS all CACHE STRING "Vector instructions to compile for: all, native (for this machine alone) or both (the narrowest, and the widest of this machine)")
set_property(CACHE PARALLAX_VECTORS PROPERTY STRINGS all native both)

# Scalable vectors cannot be kept in arrays, which the median does; such machines run their fixed-width targets.
# 0x50 is AVX3_ZEN4 and AVX3_SPR, which Highway 1.0.3 does not name: Parallax uses nothing that they add to AVX3_DL.
set(unused_vectors HWY_SVE HWY_SVE2 HWY_SVE_256 HWY_SVE2_128 HWY_RVV 0x50)
# Highway always keeps the narrowest target, which every processor has.
set(wider_vectors HWY_SSSE3 HWY_SSE4 HWY_AVX2 HWY_AVX3 HWY_AVX3_DL)

# AVX3_DL is the AVX-512 of Ice Lake and Zen 4, which counts the bits of bytes.
function(parallax_vectors_without result)
  list(JOIN ARGN "|" disabled)
  set(${result} HWY_WANT_AVX3_DL "HWY_DISABLED_TARGETS=(${disabled})" PARENT_SCOPE)
endfunction()

# Sets PARALLAX_WIDEST_VECTORS to the widest of the above that this machine has; empty if it has none.
function(parallax_find_widest_vectors)
  if(DEFINED PARALLAX_WIDEST_VECTORS)
    return()
  endif()
  if(PARALLAX_VENDORED)
    message(FATAL_ERROR "PARALLAX_VECTORS=${PARALLAX_VECTORS} asks an installed Highway: set it to all beside PARALLAX_VENDORED")
  endif()
  try_run(
    status compiled ${CMAKE_CURRENT_BINARY_DIR}/vectors_here ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/vectors_here.cpp
    LINK_LIBRARIES hwy::hwy
    RUN_OUTPUT_VARIABLE vectors_here)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "Cannot determine this machine's vector instructions: set PARALLAX_VECTORS=all\n${vectors_here}")
  endif()
  # The widest come first.
  list(TRANSFORM vectors_here PREPEND HWY_)
  set(widest "")
  foreach(vectors IN LISTS vectors_here)
    if(NOT widest AND vectors IN_LIST wider_vectors)
      set(widest ${vectors})
    endif()
  endforeach()
  set(PARALLAX_WIDEST_VECTORS "${widest}" CACHE INTERNAL "The widest vector instructions of this machine")
endfunction()

parallax_vectors_without(parallax_all_vectors ${unused_vectors})
if(PARALLAX_VECTORS STREQUAL "all")
  set(parallax_vectors ${parallax_all_vectors})
elseif(PARALLAX_VECTORS STREQUAL "native")
  parallax_find_widest_vectors()
  # What this machine lacks comes after its widest.
  set(lacking ${wider_vectors})
  foreach(vectors IN LISTS wider_vectors)
    if(PARALLAX_WIDEST_VECTORS IN_LIST lacking)
      list(POP_FRONT lacking)
    endif()
  endforeach()
  parallax_vectors_without(parallax_vectors ${unused_vectors} ${lacking})
  if(PARALLAX_WIDEST_VECTORS)
    list(APPEND parallax_vectors HWY_BASELINE_TARGETS=${PARALLAX_WIDEST_VECTORS})
  endif()
elseif(PARALLAX_VECTORS STREQUAL "both")
  parallax_find_widest_vectors()
  list(REMOVE_ITEM wider_vectors "${PARALLAX_WIDEST_VECTORS}")
  parallax_vectors_without(parallax_vectors ${unused_vectors} ${wider_vectors})
  # The library has the widest.
  parallax_vectors_without(parallax_all_vectors ${unused_vectors} ${PARALLAX_WIDEST_VECTORS})
else()
  message(FATAL_ERROR "PARALLAX_VECTORS is ${PARALLAX_VECTORS}: set it to all, native or both")
endif()
