// SPDX-License-Identifier: Apache-2.0
// HTTP for the page of 'parallax view', without surprises from whoever else connects.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tools/view/request.h"

namespace parallax::view {

struct HttpLimits {
  // For headers and body together, however often their bytes come.
  std::chrono::milliseconds request_time{10'000};
  std::chrono::milliseconds read_time{5'000}, write_time{20'000};  // without a single byte
  std::chrono::milliseconds idle_time{5'000};                      // between two requests of a connection
  std::size_t header_bytes = 1 << 16, body_bytes = 1 << 16;
  std::size_t connections = 256;
};

// Makes a thread whenever all others are busy: streams, and connections that a browser keeps open, hold one
// each. A fixed number of threads could be held up by as many connections that send nothing.
class ConnectionThreads {
 public:
  explicit ConnectionThreads(std::size_t most) : max_(most) {}
  // Waits for all connections.
  ~ConnectionThreads();

  void enqueue(std::function<void()> connection);

 private:
  void work();

  std::size_t max_;
  std::mutex mutex_;
  std::condition_variable arrival_;
  std::list<std::function<void()>> waiting_;
  std::size_t idle_ = 0;
  std::vector<std::thread> threads_;
  bool stopped_ = false;
};

// HTTP/1.1, for one request after the other of a connection; they may follow each other without waiting for
// answers. Bodies need a length. Ranges and compressed content are not known.
class HttpServer {
 public:
  // Answers from several threads at a time. What it throws ends the connection.
  using Handler = std::function<void(const Request&, Response&)>;

  HttpServer(const HttpLimits& limits, Handler handler);
  ~HttpServer();

  // Port 0 is one that is free. Returns the port, or nothing if it is taken.
  std::optional<int> bind(const std::string& host, int port);
  // Until stop(), and until all connections have ended.
  void run();
  void stop();

 private:
  void serve(int socket) const;

  HttpLimits limits_;
  Handler handler_;
  int listening_ = -1;
  int stopped_ = -1;  // readable after stop()
};

}  // namespace parallax::view
