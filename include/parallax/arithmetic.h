// SPDX-License-Identifier: Apache-2.0
/// \file
/// Number formats of belief propagation.
#pragma once

#pragma GCC visibility push(default)
namespace parallax {

/// Number format in which messages and costs are stored and computed.
enum class Arithmetic {
  /// Unsigned bytes: integers, messages of at most 31 units. Gives the same labels on every device.
  fixed8,
  /// The same in 16 bits, with messages of at most 4095 units, where 31 steps are too coarse.
  fixed16,
  /// Single precision. In the method "bp" this is the published algorithm: the mean of each message is
  /// subtracted from it, and the outermost pixels keep the messages of the coarser level and get no
  /// disparity.
  float32,
  float16,   ///< float32 with messages and costs stored in IEEE half precision
  bfloat16,  ///< float32 with messages and costs stored in bfloat16
};

}  // namespace parallax
#pragma GCC visibility pop
