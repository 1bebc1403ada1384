// SPDX-License-Identifier: Apache-2.0
// Precompiled for files with inner loops where there is a single vector target: Highway's headers, which
// take longer to read than most of these files. Including <hwy/foreach_target.h> again has no effect.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "parallax/parallax.h"

#define HWY_TARGET_INCLUDE "parallax/image.h"  // has an include guard: nothing to compile once more
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
