// SPDX-License-Identifier: Apache-2.0
// Streams, which run or record operations; events, which are points in a stream; graphs of recorded
// operations.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <thread>
#include <vector>

#include "context.h"

namespace emulated {

// An operation of a stream; returns its result.
using Operation = std::function<Result()>;

// The pending operations of a stream, in order. Positions count all operations that were ever added.
class Queue {
 public:
  explicit Queue(Context& context) : context_(context) {}

  void add(Operation operation) { waiting_.push_back(std::move(operation)); }
  std::uint64_t end() const { return done_ + waiting_.size(); }
  // Runs the operations before that position. After a failure the context runs nothing more.
  void finish(std::uint64_t position);

 private:
  Context& context_;
  std::deque<Operation> waiting_;
  std::uint64_t done_ = 0;
};

enum class CaptureMode { global = 0, thread_local_only = 1, relaxed = 2 };

// A recording stream, and the streams that joined it.
struct Stream;
struct Capture {
  struct Node {
    Operation operation;
    std::set<std::size_t> after;
  };

  CaptureMode mode{};
  std::thread::id thread;
  const Stream* origin = nullptr;
  bool is_invalid = false;
  std::vector<Node> nodes;

  // Whether all other nodes lead to these.
  bool is_joined_by(const std::set<std::size_t>& last) const;
};

struct Stream {
  explicit Stream(Context& its_context, bool blocking)
      : context(&its_context), is_blocking(blocking), queue(std::make_shared<Queue>(its_context)) {}

  Context* context;
  // Whether it waits for the default stream, and the default stream for it.
  bool is_blocking;
  std::shared_ptr<Queue> queue;
  std::shared_ptr<Capture> capture;
  // The nodes that the next node follows.
  std::set<std::size_t> last;
};

struct Event {
  Context* context = nullptr;
  bool has_time = true;
  std::optional<std::chrono::steady_clock::time_point> time;
  // The place where it was recorded: in a stream,
  std::shared_ptr<Queue> queue;
  std::uint64_t position = 0;
  // or in a capture.
  std::shared_ptr<Capture> capture;
  std::set<std::size_t> last;
};

struct Graph {
  std::vector<Operation> operations;
};

struct ExecutableGraph {
  const Graph* graph = nullptr;  // the graph it was made from
  std::vector<Operation> operations;
};

// Adds the operation to the stream or to its capture; does not run it.
Result tell(Stream& stream, Operation operation);
// Makes later operations of the stream follow the event.
Result wait_for(Stream& stream, const Event& event);
Result begin_capture(Stream& stream, CaptureMode mode);
// `graph` is null if the capture failed. `joined` are the streams that may have taken part.
Result end_capture(Stream& stream, const std::vector<Stream*>& joined, std::unique_ptr<Graph>& graph);

}  // namespace emulated
