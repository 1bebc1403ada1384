// SPDX-License-Identifier: Apache-2.0
/// \file
/// The one exception type of the library.
#pragma once

#include <stdexcept>
#include <string>

#pragma GCC visibility push(default)
namespace parallax {

/// What kind of thing went wrong. Decides how an edge of the library (command line, binding) reacts.
enum class ErrorCategory {
  argument,  ///< a parameter, size or image the caller gave cannot be used
  file,      ///< a file cannot be read, written or understood
  device,    ///< a device is missing, failed, or lacks what was asked of it
  memory,    ///< more memory is needed than there is, or than is allowed
  internal,  ///< a defect of Parallax itself
};

/// Thrown by every function of the library that fails, but for std::bad_alloc where memory runs out. `what()`
/// is one line: what failed, where, what to do. Control characters of the message, which the name of a file
/// may hold, are written as in C: "\n", "\x1b".
class Error : public std::runtime_error {
 public:
  Error(ErrorCategory category, const std::string& message);
  ErrorCategory category() const noexcept { return category_; }

 private:
  ErrorCategory category_;
};

}  // namespace parallax
#pragma GCC visibility pop
