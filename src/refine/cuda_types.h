// What the host tells the kernels of guided steps; included by both.
#pragma once

namespace parallax::refine {

constexpr int most_window = 15;

// See guide.h.
struct CudaGuidedStep {
  const float* from;
  float* to;
  const unsigned char* guide;
  long long stride, to_stride;
  int guide_stride;
  int width, height;
  float step;                                          // of the bilateral filter, in pixels
  unsigned char gray[256];                             // weights by difference
  unsigned short distance[most_window * most_window];  // weights by place in the window
};

}  // namespace parallax::refine
