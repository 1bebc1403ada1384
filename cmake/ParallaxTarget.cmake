# SPDX-License-Identifier: Apache-2.0
# Makes buffer overruns end the program, and the addresses that the loader fills in read-only. Sanitizers check more.
function(parallax_harden target)
  if(EMSCRIPTEN)
    return()
  endif()
  target_compile_options(${target} PRIVATE -fstack-protector-strong)
  # _FORTIFY_SOURCE needs optimisation.
  target_compile_options(${target} PRIVATE "$<$<CONFIG:Release,RelWithDebInfo>:-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=2>")
  if(CMAKE_SYSTEM_NAME STREQUAL "Linux")
    target_link_options(${target} PRIVATE -Wl,-z,relro,-z,now)
  endif()
endfunction()

# For code that spends its run time in the library. Halves the compile time, most of which goes into headers, and,
# under sanitizers, into their checks.
function(parallax_compile_quickly target)
  if(PARALLAX_SANITIZE)
    target_compile_options(${target} PRIVATE -O0)
  else()
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD_BATCH_SIZE 16)
endfunction()

# WebAssembly has no shared libraries here.
set(parallax_position_independent ON)
if(EMSCRIPTEN)
  set(parallax_position_independent OFF)
endif()

# Sets the options for every target of this project.
function(parallax_target target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF POSITION_INDEPENDENT_CODE ${parallax_position_independent})
  # A fused multiply-add would round once where the reference rounds twice, but results must not depend on the machine.
  target_compile_options(${target} PRIVATE -ffp-contract=off -Wall -Wextra)
  # GCC 13 and 14 warn of references to objects that outlive the arguments of the function that returns them.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Wno-dangling-reference>)
  endif()
  if(PARALLAX_DEVELOPER_MODE)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
  if(NOT PARALLAX_SANITIZE)
    parallax_harden(${target})
  else()
    target_compile_options(${target} PRIVATE -fsanitize=${PARALLAX_SANITIZE} -fno-sanitize-recover=all
                                             -fno-omit-frame-pointer)
    target_link_options(${target} PRIVATE -fsanitize=${PARALLAX_SANITIZE})
    # Defines the macros that GCC defines for these sanitizers.
    if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
      foreach(sanitizer ADDRESS THREAD)
        string(TOLOWER ${sanitizer} name)
        if(PARALLAX_SANITIZE MATCHES ${name})
          target_compile_definitions(${target} PRIVATE __SANITIZE_${sanitizer}__=1)
        endif()
      endforeach()
    endif()
    get_target_property(type ${target} TYPE)
    if(type STREQUAL "EXECUTABLE")
      target_sources(${target} PRIVATE ${PROJECT_SOURCE_DIR}/cmake/leaks_of_others.cpp)
      if(PARALLAX_FUZZ)
        target_link_options(${target} PRIVATE -fsanitize=fuzzer-no-link)
      endif()
    endif()
  endif()
endfunction()
