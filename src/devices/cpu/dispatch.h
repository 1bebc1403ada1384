// SPDX-License-Identifier: Apache-2.0
// Defines functions whose inner loops are compiled once for each vector instruction set.
#pragma once

// Whether functions of this instruction set may use intrinsics of NEON; after <hwy/highway.h>.
#define PARALLAX_NEON_VECTORS (HWY_ARCH_ARM_A64 && HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128)

// Defines `Result name parameters`, which calls name_here() of the widest vectors that the processor has.
#define PARALLAX_DISPATCH(Result, name, parameters, arguments) \
  HWY_EXPORT(name##_here);                                     \
  Result name parameters {                                     \
    return HWY_DYNAMIC_DISPATCH(name##_here) arguments;        \
  }
