// SPDX-License-Identifier: Apache-2.0
// HTTP without surprises from whoever connects.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <list>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <httplib.h>

namespace parallax::view {

// httplib's server, but: a request must be complete within a time, however often its bytes come, and its
// headers have a limit; a body that nobody read is never taken for the next request; requests may follow each
// other without waiting for answers; ranges and compressed bodies are not known.
class HttpServer : public httplib::Server {
 public:
  // `patience` is for headers and body together.
  explicit HttpServer(std::chrono::milliseconds patience) : patience_(patience) {}

 private:
  bool process_and_close_socket(socket_t socket) override;

  std::chrono::milliseconds patience_;
};

// Makes a thread whenever all others are busy: streams, and connections that a browser keeps open, hold one
// each. A fixed number of threads could be held up by as many connections that send nothing.
class ConnectionThreads : public httplib::TaskQueue {
 public:
  explicit ConnectionThreads(std::size_t most) : max_(most) {}

  // void, or since cpp-httplib 0.14 whether there is room: always.
  using Enqueued = decltype(std::declval<httplib::TaskQueue&>().enqueue(std::function<void()>()));
  Enqueued enqueue(std::function<void()> connection) override;
  // Waits for all connections.
  void shutdown() override;

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

}  // namespace parallax::view
