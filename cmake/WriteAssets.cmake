# SPDX-License-Identifier: Apache-2.0
# Writes a C++ source that contains the files of the viewer's page.
set(entries "")
foreach(path IN LISTS FILES)
  get_filename_component(name ${path} NAME)
  get_filename_component(extension ${path} LAST_EXT)
  if(extension STREQUAL ".html")
    set(type "text/html; charset=utf-8")
  elseif(extension STREQUAL ".js")
    set(type "text/javascript; charset=utf-8")
  elseif(extension STREQUAL ".css")
    set(type "text/css; charset=utf-8")
  elseif(extension STREQUAL ".svg")
    set(type "image/svg+xml")
  else()
    set(type "text/plain; charset=utf-8")
  endif()
  if(name STREQUAL "index.html")
    set(name "")
  endif()
  file(READ ${path} content)
  string(APPEND entries "    {\"/${name}\", \"${type}\", R\"asset(${content})asset\"},\n")
endforeach()
file(WRITE ${OUTPUT} "// Made by the build.
#include \"tools/view/assets.h\"

namespace parallax::view {

std::span<const Asset> assets() {
  static const Asset all[] = {
${entries}  };
  return all;
}

}  // namespace parallax::view
")
