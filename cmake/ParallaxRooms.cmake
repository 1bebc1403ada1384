# SPDX-License-Identifier: Apache-2.0
# Adds a folder of sources to the library:
#
#   parallax_room(folder [SOURCES files…] [INNER_LOOPS files…] [CUDA files…] [OPENCL files…])
#
# INNER_LOOPS are sources, too. CUDA and OPENCL list the files for these devices: C++ sources, kernels (.cu, .cl)
# and headers of kernels (.h). The library contains kernels as text: matchers/block/cuda_search.cu is the
# variable parallax::cuda::block_search_cu of the generated devices/cuda/kernel_sources.h. CUDA kernels include
# headers by their path in src/.
function(parallax_room folder)
  cmake_parse_arguments(PARSE_ARGV 1 room "" "" "SOURCES;INNER_LOOPS;CUDA;OPENCL")
  foreach(kind SOURCES INNER_LOOPS CUDA OPENCL)
    list(TRANSFORM room_${kind} PREPEND ${folder}/)
  endforeach()
  set_property(GLOBAL APPEND PROPERTY parallax_inner_loops ${room_INNER_LOOPS})
  target_sources(parallax PRIVATE ${room_SOURCES} ${room_INNER_LOOPS})
  foreach(device CUDA OPENCL)
    if(NOT PARALLAX_${device})
      continue()
    endif()
    set(sources ${room_${device}})
    list(FILTER sources INCLUDE REGEX "\\.cpp$")
    target_sources(parallax PRIVATE ${sources})
    list(FILTER room_${device} EXCLUDE REGEX "\\.cpp$")
    set_property(GLOBAL APPEND PROPERTY parallax_kernels_${device} ${room_${device}})
  endforeach()
endfunction()

# Writes the kernels of all rooms into a source and a header of the library.
function(parallax_write_kernels device)
  string(TOUPPER ${device} upper)
  get_property(files GLOBAL PROPERTY parallax_kernels_${upper})
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/devices/${device})
  list(TRANSFORM files PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/ OUTPUT_VARIABLE paths)
  add_custom_command(
    OUTPUT ${folder}/kernel_sources.cpp ${folder}/kernel_sources.h
    COMMAND ${CMAKE_COMMAND} -DDEVICE=${device} "-DFILES=${files}" -DFOLDER=${CMAKE_CURRENT_SOURCE_DIR} -DOUTPUT=${folder}/kernel_sources
            -P ${PROJECT_SOURCE_DIR}/cmake/WriteKernels.cmake
    DEPENDS ${paths} ${PROJECT_SOURCE_DIR}/cmake/WriteKernels.cmake
    VERBATIM)
  target_sources(parallax PRIVATE ${folder}/kernel_sources.cpp ${folder}/kernel_sources.h)
endfunction()
