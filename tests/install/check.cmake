function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "failed (${status}): ${ARGN}")
  endif()
endfunction()

# What is compiled here is so without optimisation: it takes half the time.
set(prefix ${work}/installed)
file(REMOVE_RECURSE ${prefix})
# The library, where it is compiled here, is only compiled anew where it has changed.
if(NOT way STREQUAL "add_subdirectory")
  file(REMOVE_RECURSE ${work}/build)
endif()
if(way STREQUAL "shared")
  run(${CMAKE_COMMAND} -S ${source} -B ${work}/library -G Ninja -D BUILD_SHARED_LIBS=ON -D PARALLAX_TOOLS=OFF
      -D PARALLAX_DEVELOPER_MODE=OFF -D CMAKE_CXX_COMPILER=${compiler} -D CMAKE_BUILD_TYPE=Debug)
  run(${CMAKE_COMMAND} --build ${work}/library)
  run(${CMAKE_COMMAND} --install ${work}/library --prefix ${prefix})
elseif(NOT way STREQUAL "add_subdirectory")
  run(${CMAKE_COMMAND} --install ${build} --prefix ${prefix})
  file(GLOB_RECURSE pc ${prefix}/*/parallax.pc)
  get_filename_component(pc_folder ${pc} DIRECTORY)
  set(ENV{PKG_CONFIG_PATH} ${pc_folder})
endif()
run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/consumer -B ${work}/build -G Ninja -D way=${way} -D parallax_source=${source}
    -D CMAKE_PREFIX_PATH=${prefix} -D CMAKE_CXX_COMPILER=${compiler} -D CMAKE_BUILD_TYPE=Debug)
run(${CMAKE_COMMAND} --build ${work}/build)
run(${work}/build/consumer)
