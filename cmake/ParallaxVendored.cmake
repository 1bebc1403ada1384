# SPDX-License-Identifier: Apache-2.0
# Highway and oneTBB, built static from source trees: PARALLAX_VENDORED/highway and PARALLAX_VENDORED/oneTBB.
foreach(tree highway oneTBB)
  if(NOT EXISTS ${PARALLAX_VENDORED}/${tree}/CMakeLists.txt)
    message(FATAL_ERROR "No source tree ${PARALLAX_VENDORED}/${tree}: put one there, or leave PARALLAX_VENDORED empty")
  endif()
endforeach()
if(PARALLAX_INSTALL AND NOT BUILD_SHARED_LIBS)
  message(FATAL_ERROR "Programs that link an installed static libparallax need an installed Highway and oneTBB, too: set "
                      "BUILD_SHARED_LIBS=ON or PARALLAX_INSTALL=OFF beside PARALLAX_VENDORED")
endif()

# Adds a tree with options of its own. Only what Parallax links is built and installed, without the tree's warnings.
function(parallax_add_vendored tree target)
  set(CMAKE_POLICY_DEFAULT_CMP0077 NEW)
  set(CMAKE_POSITION_INDEPENDENT_CODE ${parallax_position_independent})
  set(CMAKE_UNITY_BUILD OFF)
  set(BUILD_SHARED_LIBS OFF)
  set(BUILD_TESTING OFF)
  foreach(option IN LISTS ARGN)
    set(${option} OFF)
  endforeach()
  set(TBB_DISABLE_HWLOC_AUTOMATIC_SEARCH ON)
  if(EMSCRIPTEN)
    # Emscripten says x86, for which oneTBB has options.
    set(CMAKE_SYSTEM_PROCESSOR wasm32)
  endif()
  # A tree's options are normal variables here, which an old set(… CACHE) would replace.
  set(CMAKE_POLICY_DEFAULT_CMP0126 NEW)
  set(CMAKE_POLICY_DEFAULT_CMP0063 NEW)
  add_subdirectory(${PARALLAX_VENDORED}/${tree} ${PROJECT_BINARY_DIR}/vendored/${tree} EXCLUDE_FROM_ALL)
  get_target_property(folders ${target} INTERFACE_INCLUDE_DIRECTORIES)
  set_target_properties(${target} PROPERTIES INTERFACE_SYSTEM_INCLUDE_DIRECTORIES "${folders}")
  target_compile_options(${target} PRIVATE -w)
  # The shared library exports nothing of them.
  set_target_properties(${target} PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
endfunction()

parallax_add_vendored(highway hwy HWY_ENABLE_CONTRIB HWY_ENABLE_EXAMPLES HWY_ENABLE_TESTS)
parallax_add_vendored(oneTBB tbb TBB_TEST TBB_STRICT TBBMALLOC_BUILD TBB_INSTALL)
if(EMSCRIPTEN)
  # WebAssembly has no coroutines, with which tasks would wait.
  target_compile_definitions(tbb PUBLIC __TBB_RESUMABLE_TASKS_USE_THREADS=1)
endif()
if(NOT TARGET hwy::hwy)
  add_library(hwy::hwy ALIAS hwy)
endif()
