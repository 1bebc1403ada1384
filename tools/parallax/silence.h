// Libraries that decode files print about broken ones. Users get one message, ours.
#pragma once

#include <string_view>

namespace parallax::tool {

// While one lives, on any thread, what is printed on standard error is lost.
class Silence {
 public:
  Silence();
  Silence(const Silence&) = delete;
  Silence& operator=(const Silence&) = delete;
  ~Silence();
};

// Writes to standard error, also while a Silence lives.
void write_message(std::string_view text);
bool messages_go_to_a_terminal();

}  // namespace parallax::tool
