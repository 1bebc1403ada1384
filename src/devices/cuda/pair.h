// SPDX-License-Identifier: Apache-2.0
// A caller's pair as a kernel argument; included by host and kernels.
#pragma once

namespace parallax::cuda {

struct Image {
  const void* data;
  long long stride_bytes;
  int channels, bits;
};

struct Mask {
  const unsigned char* data;  // null = valid everywhere
  long long stride;
};

}  // namespace parallax::cuda
