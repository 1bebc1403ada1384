// SPDX-License-Identifier: Apache-2.0
// Motion on the CPU where each pixel considers all labels: a pyramid of messages over the labels of one
// scale.
#pragma once

#include <functional>

#include "core/arena.h"
#include "core/workers.h"
#include "matchers/motion/motion.h"
#include "matchers/motion/parity_features.h"

namespace parallax::motion {

// The label of the lowest belief, and on both axes the beliefs of its neighbours, which are infinite where
// they are no labels. The rival, the same on both, is the lowest belief of a label more than one away on an
// axis; infinite where there is none.
struct Decision {
  Offset offset;
  refine::Beliefs columns, rows;
};

class AllLabels {
 public:
  // A thread's share of the largest cache.
  static constexpr std::size_t usual_cached_bytes = 12 << 20;

  // The matcher of a scale that considers all labels; `scale_index` is its place in scales(). The model must
  // outlive this. Rows in work take `cached_bytes` of a thread, or a few columns of them.
  AllLabels(const Model& model, const Scale& scale, std::size_t scale_index, int slots,
            std::size_t cached_bytes = usual_cached_bytes);
  ~AllLabels();

  // Called twice (see Arena), before any other function.
  void reserve(Arena& arena);
  // Called once, after reserve().
  void fill_memory();

  // What becomes of the beliefs of a pixel; masked pixels and pixels without any right pixel have beliefs,
  // too.
  struct Output {
    View<Offset> best;  // the label of the lowest belief; may be empty
    // May be empty. Called once for each pixel, by several threads at once.
    std::function<void(int x, int y, const Decision& decision)> decided;
  };

  // `labels` may begin elsewhere than those of the constructor's scale, for a match in the other direction.
  void run(const ScaleFrames& frames, const LabelSpace& labels, const Output& output, const Workers& workers);

 private:
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace parallax::motion
