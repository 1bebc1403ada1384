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
  set_property(GLOBAL APPEND PROPERTY parallax_sources ${room_SOURCES})
  foreach(device CUDA OPENCL)
    if(NOT PARALLAX_${device})
      continue()
    endif()
    set(sources ${room_${device}})
    list(FILTER sources INCLUDE REGEX "\\.cpp$")
    set_property(GLOBAL APPEND PROPERTY parallax_sources ${sources})
    list(FILTER room_${device} EXCLUDE REGEX "\\.cpp$")
    set_property(GLOBAL APPEND PROPERTY parallax_kernels_${device} ${room_${device}})
  endforeach()
endfunction()

# The same for the room of a method, whose name users give: left out unless PARALLAX_METHODS has the name.
#
#   parallax_method(name folder [SOURCES files…] …)
function(parallax_method name folder)
  set_property(GLOBAL APPEND PROPERTY parallax_known_methods ${name})
  if(NOT PARALLAX_METHODS STREQUAL "all" AND NOT name IN_LIST PARALLAX_METHODS)
    return()
  endif()
  parallax_room(matchers/${folder} ${ARGN})
  set_property(GLOBAL APPEND PROPERTY parallax_methods ${folder})
endfunction()

# Writes the list of the methods that are built, matchers/methods.cpp.
function(parallax_write_methods)
  get_property(known GLOBAL PROPERTY parallax_known_methods)
  foreach(name IN LISTS PARALLAX_METHODS)
    if(NOT name STREQUAL "all" AND NOT name IN_LIST known)
      list(JOIN known ", " known)
      message(FATAL_ERROR "PARALLAX_METHODS has ${name}: set it to all, or to some of ${known}")
    endif()
  endforeach()
  get_property(folders GLOBAL PROPERTY parallax_methods)
  set(includes "")
  set(entries "")
  foreach(folder IN LISTS folders)
    string(APPEND includes "#include \"matchers/${folder}/${folder}.h\"\n")
    string(APPEND entries "  all.push_back(${folder}::method());\n")
  endforeach()
  set(path ${CMAKE_CURRENT_BINARY_DIR}/matchers/methods.cpp)
  file(CONFIGURE OUTPUT ${path} @ONLY CONTENT "// Made by the build: see cmake/ParallaxRooms.cmake.
@includes@#include \"matchers/method.h\"

namespace parallax::detail {

std::vector<std::unique_ptr<Method>> methods_of_this_build() {
  std::vector<std::unique_ptr<Method>> all;
@entries@  return all;
}

}  // namespace parallax::detail
")
  set_property(GLOBAL APPEND PROPERTY parallax_sources ${path})
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
  set_property(GLOBAL APPEND PROPERTY parallax_sources ${folder}/kernel_sources.cpp)
  add_custom_target(parallax_${device}_kernels DEPENDS ${folder}/kernel_sources.h)
endfunction()
