// SPDX-License-Identifier: Apache-2.0
// Threads for the connections of the server.
#pragma once

#include <condition_variable>
#include <functional>
#include <list>
#include <mutex>
#include <thread>
#include <vector>

#include <httplib.h>

namespace parallax::view {

// Makes a thread whenever all others are busy: streams, and connections that a browser keeps open, hold one each. A fixed
// number of threads could be held up by as many connections that send nothing.
class ConnectionThreads : public httplib::TaskQueue {
 public:
  explicit ConnectionThreads(std::size_t most) : most_(most) {}

  void enqueue(std::function<void()> connection) override;
  // Waits for all connections.
  void shutdown() override;

 private:
  void work();

  std::size_t most_;
  std::mutex mutex_;
  std::condition_variable arrival_;
  std::list<std::function<void()>> waiting_;
  std::size_t idle_ = 0;
  std::vector<std::thread> threads_;
  bool stopped_ = false;
};

}  // namespace parallax::view
