// SPDX-License-Identifier: Apache-2.0
/// \file
/// The whole public interface.

/// \namespace parallax
/// The C++ interface.
#pragma once

#include "parallax/arithmetic.h"
#include "parallax/belief_propagation.h"
#include "parallax/block.h"
#include "parallax/census.h"
#include "parallax/check.h"
#include "parallax/cost_curve.h"
#include "parallax/data_cost.h"
#include "parallax/device.h"
#include "parallax/error.h"
#include "parallax/evaluate.h"
#include "parallax/flow.h"
#include "parallax/formats.h"
#include "parallax/geometry.h"
#include "parallax/image.h"
#include "parallax/margins.h"
#include "parallax/matcher.h"
#include "parallax/matcher_pool.h"
#include "parallax/motion.h"
#include "parallax/parameters.h"
#include "parallax/planes.h"
#include "parallax/process.h"
#include "parallax/rectified_matcher.h"
#include "parallax/rectify.h"
#include "parallax/refine.h"
#include "parallax/repair.h"
#include "parallax/rig.h"
#include "parallax/rows.h"
#include "parallax/semi_global.h"
#include "parallax/synth.h"
#include "parallax/temporal.h"
#include "parallax/tiled_belief_propagation.h"
#include "parallax/tiles.h"
#include "parallax/tune.h"
#include "parallax/values.h"
#include "parallax/version.h"
