// SPDX-License-Identifier: Apache-2.0
// The server of the viewer: where it listens, and who may ask.
#pragma once

#include <memory>
#include <string>

#include "tools/view/scene.h"

namespace parallax::view {

struct ServerOptions {
  std::string host = "127.0.0.1";  // to listen at
  int port = 0;                    // 0 = 8730, or another one that is free
  bool once = false;               // end when the last page is closed
};

class Server {
 public:
  // Listens from now on.
  // \throws Error (device) when the port is taken, or the host is none of this machine
  Server(Scene& scene, const ServerOptions& options);
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server();

  // Where the page is, with what it takes to open it.
  std::string address() const;
  // Whether the address has a secret.
  bool needs_token() const;
  // Answers until stop(), or, with `once`, until the last page is closed.
  void run();
  // From any thread.
  void stop();

 private:
  class Site;
  std::unique_ptr<Site> site_;
};

}  // namespace parallax::view
