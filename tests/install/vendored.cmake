# SPDX-License-Identifier: Apache-2.0
# What PARALLAX_VENDORED cannot be used with is refused in one sentence. scripts/release.sh builds with it.
file(REMOVE_RECURSE ${work})
foreach(tree highway oneTBB)
  file(WRITE ${work}/trees/${tree}/empty.cpp "")
endforeach()
file(WRITE ${work}/trees/highway/CMakeLists.txt "add_library(hwy STATIC empty.cpp)\n")
file(WRITE ${work}/trees/oneTBB/CMakeLists.txt "add_library(tbb STATIC empty.cpp)\n")

function(check_refusal message)
  execute_process(COMMAND ${CMAKE_COMMAND} -S ${source} -B ${work}/build -D CMAKE_CXX_COMPILER=${compiler} -D PARALLAX_TOOLS=OFF
                          -D PARALLAX_DEVELOPER_MODE=OFF ${ARGN} RESULT_VARIABLE status OUTPUT_QUIET ERROR_VARIABLE complaint)
  string(REGEX REPLACE "[ \n]+" " " complaint "${complaint}")
  if(status EQUAL 0 OR NOT complaint MATCHES "${message}")
    message(FATAL_ERROR "expected \"${message}\", not status ${status}: ${complaint}")
  endif()
endfunction()

check_refusal("No source tree /nowhere/highway: put one there" -D PARALLAX_VENDORED=/nowhere)
check_refusal("set BUILD_SHARED_LIBS=ON or PARALLAX_INSTALL=OFF" -D PARALLAX_VENDORED=${work}/trees)
check_refusal("asks an installed Highway: set it to all" -D PARALLAX_VENDORED=${work}/trees -D PARALLAX_INSTALL=OFF -D PARALLAX_VECTORS=both)
