# SPDX-License-Identifier: Apache-2.0
# A run path with an empty entry makes the loader look for libraries in the current folder.
# -D readelf=... -D binaries=<file with a path a line>
file(STRINGS ${binaries} paths)
foreach(path ${paths})
  # Skips programs that were not built.
  if(NOT EXISTS ${path})
    continue()
  endif()
  execute_process(COMMAND ${readelf} -d ${path} OUTPUT_VARIABLE dynamic COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "\\((RUNPATH|RPATH)\\)[^\n]*\\[[^]\n]*\\]" entries "${dynamic}")
  foreach(entry ${entries})
    string(REGEX REPLACE ".*\\[(.*)\\]" "\\1" run_path "${entry}")
    if(":${run_path}:" MATCHES "::")
      message(SEND_ERROR "${path}: its run path '${run_path}' has an empty entry")
    endif()
  endforeach()
endforeach()
