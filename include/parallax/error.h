// SPDX-License-Identifier: Apache-2.0
/// \file
/// The exception type of the library.
#pragma once

#include <stdexcept>
#include <string>

#pragma GCC visibility push(default)
namespace parallax {

/// The kind of an error. It decides how the command line or a language binding reacts.
enum class ErrorCategory {
  argument,   ///< a parameter, size or image from the caller cannot be used
  file,       ///< a file cannot be read, written or parsed
  device,     ///< a device is missing, failed, or lacks a requested feature
  memory,     ///< more memory is needed than is available or allowed
  internal,   ///< a defect of Parallax itself
  cancelled,  ///< the call was cancelled, for example by Matcher::cancel()
};

/// Every function of the library that fails throws an Error, except that std::bad_alloc is thrown when memory
/// runs out. `what()` is one line: what failed, where, and what to do. Control characters in the message, for
/// example from the name of a file, are escaped as in C: "\n", "\x1b".
class Error : public std::runtime_error {
 public:
  /// Escapes the control characters of the message.
  Error(ErrorCategory category, const std::string& message, bool is_transient = false);
  /// Tells callers how to react.
  ErrorCategory category() const noexcept { return category_; }
  /// Whether the same call may succeed later or elsewhere, for example after a full disk or a failed GPU. It
  /// would fail again with a damaged file, or with a method that the device does not run.
  bool is_transient() const noexcept { return is_transient_; }

 private:
  ErrorCategory category_;
  bool is_transient_;
};

/// Whether an error of the system, given as its errno, may pass: a full disk, an I/O error, no memory, a lost
/// connection.
bool is_transient(int system_error) noexcept;

}  // namespace parallax
#pragma GCC visibility pop
