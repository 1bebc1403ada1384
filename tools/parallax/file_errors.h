// What goes wrong with files, in words.
#pragma once

#include <string>

namespace parallax::tool {

// "cannot write a.tiff: No space left on device; free some space": `reason` is an errno.
// \throws Error (file), always
[[noreturn]] void fail_file(const std::string& what, const std::string& path, int reason);

}  // namespace parallax::tool
