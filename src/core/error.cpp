// SPDX-License-Identifier: Apache-2.0
#include "parallax/error.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <iterator>
#include <string_view>

namespace parallax {
namespace {

std::string escaped(unsigned char control) {
  if (control == '\t') return "\\t";
  if (control == '\n') return "\\n";
  if (control == '\r') return "\\r";
  std::array<char, 8> text;
  std::snprintf(text.data(), text.size(), "\\x%02x", static_cast<unsigned>(control));
  return text.data();
}

bool is_control(unsigned char c) {
  return c < 0x20 || c == 0x7F;
}

// Terminals also treat U+0080 to U+009F (in UTF-8: 0xC2 and that byte) as control characters.
bool is_wide_control(std::string_view text) {
  return text.size() >= 2 && text[0] == '\xC2' && static_cast<unsigned char>(text[1]) >= 0x80 &&
         static_cast<unsigned char>(text[1]) < 0xA0;
}

// Replaces control characters, so that a message cannot move the terminal's cursor or look like two messages.
std::string one_line(std::string_view message) {
  std::string line;
  line.reserve(message.size());
  for (; !message.empty(); message.remove_prefix(1)) {
    const bool wide = is_wide_control(message);
    if (wide) message.remove_prefix(1);
    const auto c = static_cast<unsigned char>(message.front());
    if (wide || is_control(c))
      line += escaped(c);
    else
      line += message.front();
  }
  return line;
}

}  // namespace

Error::Error(ErrorCategory category, const std::string& message, bool is_transient)
    : std::runtime_error(one_line(message)), category_(category), is_transient_(is_transient) {}

bool is_transient(int system_error) noexcept {
  constexpr int transient[] = {ENOSPC,       EDQUOT,   EIO,        EREMOTEIO,    ENOMEM,       EAGAIN,
                               EINTR,        EBUSY,    EMFILE,     ENFILE,       ENOLCK,       ESTALE,
                               ETIMEDOUT,    ENOTCONN, ECONNRESET, ECONNABORTED, ECONNREFUSED, EHOSTDOWN,
                               EHOSTUNREACH, ENETDOWN, ENETUNREACH};
  return std::find(std::begin(transient), std::end(transient), system_error) != std::end(transient);
}

}  // namespace parallax
