// SPDX-License-Identifier: Apache-2.0
#include "streams.h"

#include <utility>

namespace emulated {

void Queue::finish(std::uint64_t position) {
  while (done_ < position && !waiting_.empty()) {
    const Operation operation = std::move(waiting_.front());
    waiting_.pop_front();
    ++done_;
    if (context_.failure == success) context_.failure = operation();
  }
}

bool Capture::is_joined_by(const std::set<std::size_t>& last) const {
  std::set<std::size_t> before = last;
  for (std::size_t i = nodes.size(); i-- > 0;)
    if (before.count(i) != 0) before.insert(nodes[i].after.begin(), nodes[i].after.end());
  return before.size() == nodes.size();
}

Result tell(Stream& stream, Operation operation) {
  if (stream.capture == nullptr) {
    stream.queue->add(std::move(operation));
    return success;
  }
  Capture& capture = *stream.capture;
  if (capture.is_invalid) return capture_invalidated;
  capture.nodes.push_back({std::move(operation), stream.last});
  stream.last = {capture.nodes.size() - 1};
  return success;
}

Result wait_for(Stream& stream, const Event& event) {
  if (event.capture == nullptr) {
    if (stream.capture != nullptr) {
      stream.capture->is_invalid = true;
      return capture_isolation;
    }
    if (event.queue == nullptr) return success;
    return tell(stream, [queue = event.queue, position = event.position] {
      queue->finish(position);
      return Result{success};
    });
  }
  if (stream.capture != nullptr && stream.capture != event.capture) {
    stream.capture->is_invalid = event.capture->is_invalid = true;
    return capture_merge;
  }
  stream.capture = event.capture;
  stream.last.insert(event.last.begin(), event.last.end());
  return success;
}

Result begin_capture(Stream& stream, CaptureMode mode) {
  if (stream.capture != nullptr) return illegal_state;
  stream.capture = std::make_shared<Capture>();
  stream.capture->mode = mode;
  stream.capture->thread = std::this_thread::get_id();
  stream.capture->origin = &stream;
  return success;
}

Result end_capture(Stream& stream, const std::vector<Stream*>& joined, std::unique_ptr<Graph>& graph) {
  const std::shared_ptr<Capture> capture = stream.capture;
  if (capture == nullptr) return illegal_state;
  if (capture->origin != &stream) return capture_unmatched;
  if (capture->mode != CaptureMode::relaxed && capture->thread != std::this_thread::get_id())
    return capture_wrong_thread;
  const bool is_joined = capture->is_joined_by(stream.last);
  for (Stream* other : joined) {
    if (other->capture != capture) continue;
    other->capture.reset();
    other->last.clear();
  }
  if (capture->is_invalid) return capture_invalidated;
  if (!is_joined) return capture_unjoined;
  graph = std::make_unique<Graph>();
  for (Capture::Node& node : capture->nodes) graph->operations.push_back(std::move(node.operation));
  return success;
}

}  // namespace emulated
