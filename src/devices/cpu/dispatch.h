// SPDX-License-Identifier: Apache-2.0
// Defines functions whose inner loops are compiled once for each vector instruction set.
#pragma once

// Defines `Result name parameters`, which calls name_here() of the widest vectors that the processor has.
#define PARALLAX_DISPATCH(Result, name, parameters, arguments) \
  HWY_EXPORT(name##_here);                                     \
  Result name parameters {                                     \
    return HWY_DYNAMIC_DISPATCH(name##_here) arguments;        \
  }
