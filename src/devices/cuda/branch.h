// SPDX-License-Identifier: Apache-2.0
// Work that runs concurrently with a stream.
#pragma once

#include "devices/cuda/context.h"

namespace parallax::cuda {

// A second stream, which forks from another and joins it.
class Branch {
 public:
  void prepare(const SharedContext& context) {
    stream_ = make_stream(context);
    forked_ = make_event(context);
    ended_ = make_event(context);
  }
  StreamHandle stream() const { return stream_.get(); }
  StreamHandle fork(StreamHandle from) const {
    wait(from, forked_, stream_.get());
    return stream_.get();
  }
  void join(StreamHandle into) const { wait(stream_.get(), ended_, into); }

 private:
  // Work enqueued on `second` from now on waits for the work on `first`.
  static void wait(StreamHandle first, const Event& event, StreamHandle second) {
    check(driver().cuEventRecord(event.get(), first), "cuEventRecord");
    check(driver().cuStreamWaitEvent(second, event.get(), 0), "cuStreamWaitEvent");
  }

  Stream stream_;
  Event forked_, ended_;
};

}  // namespace parallax::cuda
