// SPDX-License-Identifier: Apache-2.0
// Streams, which do what they are told, or record it; events, which are points in what a stream does; graphs
// of what was recorded.
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

// What a stream is told to do; says how it went.
using Operation = std::function<Result()>;

// What a stream has yet to do, in order. Positions count what it was ever told.
class Queue {
 public:
  explicit Queue(Context& context) : context_(context) {}

  void add(Operation operation) { waiting_.push_back(std::move(operation)); }
  std::uint64_t end() const { return done_ + waiting_.size(); }
  // Does what was told before that position. Once something has failed, the context does nothing any more.
  void finish(std::uint64_t position);

 private:
  Context& context_;
  std::deque<Operation> waiting_;
  std::uint64_t done_ = 0;
};

enum class CaptureMode { global = 0, thread_local_only = 1, relaxed = 2 };

// A stream that records, and the streams that joined it.
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

  // Whether all others lead to these nodes.
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
  // The nodes that the next one comes after.
  std::set<std::size_t> last;
};

struct Event {
  Context* context = nullptr;
  bool has_time = true;
  std::optional<std::chrono::steady_clock::time_point> time;
  // Where it was recorded: in what a stream does,
  std::shared_ptr<Queue> queue;
  std::uint64_t position = 0;
  // or in what it captures.
  std::shared_ptr<Capture> capture;
  std::set<std::size_t> last;
};

struct Graph {
  std::vector<Operation> operations;
};

struct ExecutableGraph {
  const Graph* graph = nullptr;  // that it was made of
  std::vector<Operation> operations;
};

// Tells the stream, or has it recorded; nothing is done yet.
Result tell(Stream& stream, Operation operation);
// What the stream is told from now on comes after the event.
Result wait_for(Stream& stream, const Event& event);
Result begin_capture(Stream& stream, CaptureMode mode);
// `graph` is null where the capture failed. `joined` are the streams that may have taken part.
Result end_capture(Stream& stream, const std::vector<Stream*>& joined, std::unique_ptr<Graph>& graph);

}  // namespace emulated
