# SPDX-License-Identifier: Apache-2.0
# Puts files of kernels for a device, cuda or opencl, into a library, as text:
# parallax_kernels(target device SOURCES name=path… HEADERS name=path…). A source becomes the variable
# parallax::cuda::<name>_cu or parallax::opencl::<name>_cl, a header what kernels include as "<name>.h".
function(parallax_kernels target device)
  cmake_parse_arguments(PARSE_ARGV 2 kernels "" "" "SOURCES;HEADERS")
  set(output ${CMAKE_CURRENT_BINARY_DIR}/${device}_kernel_sources.cpp)
  foreach(entry IN LISTS kernels_SOURCES kernels_HEADERS)
    string(REGEX REPLACE ".*=" "" path ${entry})
    list(APPEND paths ${CMAKE_CURRENT_SOURCE_DIR}/${path})
  endforeach()
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DDEVICE=${device} "-DSOURCES=${kernels_SOURCES}" "-DHEADERS=${kernels_HEADERS}"
            -DFOLDER=${CMAKE_CURRENT_SOURCE_DIR} -DOUTPUT=${output} -P ${PROJECT_SOURCE_DIR}/cmake/WriteKernels.cmake
    DEPENDS ${paths} ${PROJECT_SOURCE_DIR}/cmake/WriteKernels.cmake
    VERBATIM)
  target_sources(${target} PRIVATE ${output})
endfunction()
