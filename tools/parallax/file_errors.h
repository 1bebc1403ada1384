// What goes wrong with files, in words.
#pragma once

#include <string>

namespace parallax::tool {

// "cannot write a.tiff: No space left on device; free some space": `reason` is an errno.
// \throws Error (file), always
[[noreturn]] void fail_file(const std::string& what, const std::string& path, int reason);

// With those above it, where they are missing. \throws Error (file)
void make_folder(const std::string& folder);

// Where it is there. \throws Error (file)
void remove_file(const std::string& path);

}  // namespace parallax::tool
