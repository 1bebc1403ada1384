// SPDX-License-Identifier: Apache-2.0
// A method outside the library, to show what a room needs: winner takes all. Label d costs min(|L(x, y) − R(x
// − d, y)|, truncation); the lowest cost wins, ties go to the lowest label.
#pragma once

#include <memory>

#include "parallax/refine.h"

#include "matchers/method.h"

namespace parallax {

struct ToyParameters {
  int min_disparity = 0;
  int disparities = 16;
  int truncation = 40;  ///< gray levels
  RefineParameters refine;

  void validate() const;
};

namespace toy {

std::unique_ptr<detail::Method> method();

std::unique_ptr<detail::Plan> make_reference(const ToyParameters&, const Device&, const ImageFormat&);
std::unique_ptr<detail::Plan> make_cpu(const ToyParameters&, const Device&, const ImageFormat&,
                                       const detail::Configuration&);
detail::TuningSpace cpu_tuning_space(const ToyParameters&, const Device&, const ImageFormat&);

}  // namespace toy
}  // namespace parallax
