// Block matching on the command line.
#pragma once

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "parallax/block.h"

namespace parallax::tool {

// Options that set the fields of `parameters`, whose values at this time are the defaults.
void add_block_options(CLI::App& app, BlockParameters& parameters);

// To be called after parsing: what one option means for another.
void settle_block_options(const CLI::App& app, BlockParameters& parameters);

nlohmann::ordered_json to_json(const BlockParameters& parameters);

}  // namespace parallax::tool
