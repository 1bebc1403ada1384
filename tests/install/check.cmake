# SPDX-License-Identifier: Apache-2.0
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "failed (${status}): ${ARGN}")
  endif()
endfunction()

# Builds the small project in a folder, with the library as `way` says, and runs it.
function(check_consumer way folder)
  # Without optimisation, which halves the time to compile.
  run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/consumer -B ${folder} -G Ninja -D way=${way}
      -D parallax_source=${source} -D CMAKE_PREFIX_PATH=${prefix} -D CMAKE_CXX_COMPILER=${compiler}
      -D CMAKE_BUILD_TYPE=Debug)
  run(${CMAKE_COMMAND} --build ${folder})
  run(${folder}/consumer)
endfunction()

# The public interface is in namespace parallax itself, internal code in nested namespaces.
function(check_exported_symbols)
  file(GLOB_RECURSE library ${prefix}/*/libparallax.so)
  find_program(nm nm REQUIRED)
  execute_process(COMMAND ${nm} --dynamic --demangle --defined-only ${library} OUTPUT_VARIABLE symbols
                  COMMAND_ERROR_IS_FATAL ANY)
  foreach(symbol "T parallax::Matcher::run\\(" "T parallax::list_matchers\\(" "typeinfo for parallax::Error")
    if(NOT symbols MATCHES ${symbol})
      message(FATAL_ERROR "${library} does not export ${symbol}")
    endif()
  endforeach()
  file(GLOB headers ${prefix}/include/parallax/*.h)
  foreach(header ${headers})
    file(READ ${header} text)
    if(text MATCHES "\nnamespace parallax {" AND NOT text MATCHES "\n#pragma GCC visibility push\\(default\\)\nnamespace parallax {")
      message(FATAL_ERROR "${header} opens namespace parallax without the visibility pragma: a shared library would not export what it declares")
    endif()
  endforeach()
  # Clang exports instantiations of the standard library, whatever their arguments are.
  if(symbols MATCHES "\n[0-9a-f]+ [A-Za-z] ([a-z ]+ for )?(hwy::|nlohmann::|parallax::[a-z_]+::)[^\n]*")
    message(FATAL_ERROR "${library} exports what is not of the public interface:${CMAKE_MATCH_0}")
  endif()
endfunction()

# The installed program finds the server of its viewer beside it, and says what to install where that is missing.
function(check_viewer)
  file(MAKE_DIRECTORY ${work}/view)
  run(${python} ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/view.py ${work}/view ${prefix}/bin/parallax)
  file(REMOVE ${prefix}/bin/parallax-view)
  execute_process(COMMAND ${prefix}/bin/parallax view pair/left.png pair/right.png WORKING_DIRECTORY ${work}/view
                  RESULT_VARIABLE status ERROR_VARIABLE complaint)
  if(NOT status EQUAL 1 OR NOT complaint MATCHES "^[^\n]*install the package parallax-view\n$")
    message(FATAL_ERROR "without parallax-view, status ${status}: ${complaint}")
  endif()
endfunction()

set(prefix ${work}/installed)
file(REMOVE_RECURSE ${prefix})
if(way STREQUAL "add_subdirectory")
  # Only changed files of the library are recompiled. It is a shared library, which is installed from here.
  get_filename_component(compiler_name ${compiler} NAME)
  set(folder ${work}/build-${compiler_name})
  check_consumer(add_subdirectory ${folder})
  run(${CMAKE_COMMAND} --install ${folder} --prefix ${prefix})
  check_exported_symbols()
  # Programs need no files of the libraries that the shared library loads.
  file(GLOB_RECURSE pc ${prefix}/*/parallax.pc)
  get_filename_component(pc_folder ${pc} DIRECTORY)
  run(${CMAKE_COMMAND} -E env PKG_CONFIG_LIBDIR=${pc_folder} pkg-config --cflags --libs parallax)
  file(REMOVE_RECURSE ${work}/shared)
  check_consumer(find_package ${work}/shared)
else()
  run(${CMAKE_COMMAND} --install ${build} --prefix ${prefix})
  file(GLOB_RECURSE pc ${prefix}/*/parallax.pc)
  get_filename_component(pc_folder ${pc} DIRECTORY)
  set(ENV{PKG_CONFIG_PATH} ${pc_folder})
  file(REMOVE_RECURSE ${work}/build)
  check_consumer(${way} ${work}/build)
  if(view)
    check_viewer()
  endif()
endif()
