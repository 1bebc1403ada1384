# SPDX-License-Identifier: Apache-2.0
# PARALLAX_UPDATE_ABI=1 ctest -R abi stores the current interface as that of the last release, in parallax-0.1.abi.
set(release ${CMAKE_CURRENT_LIST_DIR}/parallax-0.1.abi)
get_filename_component(folder ${library} DIRECTORY)
set(now ${folder}/now.abi)
# Types of other headers do not belong to the interface.
file(COPY ${header} DESTINATION ${folder}/headers)
execute_process(
  COMMAND ${abidw} --headers-dir ${folder}/headers --drop-private-types --exported-interfaces-only --drop-undefined-syms --no-corpus-path
          --no-show-locs --no-comp-dir-path --no-elf-needed --no-parameter-names --no-architecture --type-id-style hash
          --no-write-default-sizes ${library}
  OUTPUT_FILE ${now} COMMAND_ERROR_IS_FATAL ANY)
if(DEFINED ENV{PARALLAX_UPDATE_ABI})
  file(COPY_FILE ${now} ${release})
endif()
# Functions may be added. So may members at the end of a struct with struct_size, which additions.txt lists.
execute_process(COMMAND ${abidiff} --no-added-syms --suppressions ${CMAKE_CURRENT_LIST_DIR}/additions.txt ${release} ${now}
                RESULT_VARIABLE status OUTPUT_VARIABLE report)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "the binary interface for C is not that of the last release (${release}):\n${report}")
endif()
