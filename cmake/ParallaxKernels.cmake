# Puts files of kernels into a library, as text: parallax_kernels(target output SOURCES name=path… HEADERS name=path…).
# A source becomes the variable parallax::cuda::<name>_cu, a header what kernels include as "<name>.h".
function(parallax_kernels target output)
  cmake_parse_arguments(PARSE_ARGV 2 kernels "" "" "SOURCES;HEADERS")
  foreach(entry IN LISTS kernels_SOURCES kernels_HEADERS)
    string(REGEX REPLACE ".*=" "" path ${entry})
    list(APPEND paths ${CMAKE_CURRENT_SOURCE_DIR}/${path})
  endforeach()
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} "-DSOURCES=${kernels_SOURCES}" "-DHEADERS=${kernels_HEADERS}"
            -DFOLDER=${CMAKE_CURRENT_SOURCE_DIR} -DOUTPUT=${output} -P ${PROJECT_SOURCE_DIR}/cmake/WriteKernels.cmake
    DEPENDS ${paths} ${PROJECT_SOURCE_DIR}/cmake/WriteKernels.cmake
    VERBATIM)
  target_sources(${target} PRIVATE ${output})
endfunction()
