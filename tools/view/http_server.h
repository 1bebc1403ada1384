// SPDX-License-Identifier: Apache-2.0
// HTTP without surprises from whoever connects.
#pragma once

#include <chrono>
#include <cstddef>

#include <httplib.h>

namespace parallax::view {

// httplib's server, but: a request must be complete within a time, however often its bytes come, and its headers have a
// limit; a body that nobody read is never taken for the next request; requests may follow each other without waiting for
// answers; ranges and compressed bodies are not known.
class HttpServer : public httplib::Server {
 public:
  // `patience` is for headers and body together.
  explicit HttpServer(std::chrono::milliseconds patience) : patience_(patience) {}

 private:
  bool process_and_close_socket(socket_t socket) override;

  std::chrono::milliseconds patience_;
};

}  // namespace parallax::view
