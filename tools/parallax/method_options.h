// What each method can be told on the command line.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "parallax/matcher.h"

#include "tools/parallax/command.h"

namespace CLI {
class App;
}

namespace parallax::tool {

// A method's preset. \throws UsageError for an unknown method, Error (argument) for an unknown preset
MatcherParameters method_preset(const std::string& method, const std::string& preset);

// What --method and --preset say: they decide the defaults of all other options, wherever they stand among
// them. \throws UsageError
void read_method_and_preset(const Arguments& arguments, const std::string& command, std::string& method,
                            std::string& preset);

// "block, bp, census, tiled-bp", and "default, sad-full-row".
std::string method_names();
std::string preset_names(const std::string& method);

// For each method's parameters:
//
// - add_options() makes options of its fields, whose values at this time are the defaults; not of the search
//   range, which all methods have;
// - settle_options(), to be called after parsing: what one option means for another;
// - fixes_range() says whether a preset chose the search range.
void add_options(CLI::App& app, BlockParameters& parameters);
void add_options(CLI::App& app, BeliefPropagationParameters& parameters);
void add_options(CLI::App& app, CensusParameters& parameters);
void add_options(CLI::App& app, TiledBeliefPropagationParameters& parameters);
void settle_options(const CLI::App& app, BlockParameters& parameters);
void settle_options(const CLI::App& app, BeliefPropagationParameters& parameters);
void settle_options(const CLI::App& app, CensusParameters& parameters);
void settle_options(const CLI::App& app, TiledBeliefPropagationParameters& parameters);
bool fixes_range(const BlockParameters& preset);
bool fixes_range(const BeliefPropagationParameters& preset);
bool fixes_range(const CensusParameters& preset);
bool fixes_range(const TiledBeliefPropagationParameters& preset);
nlohmann::ordered_json to_json(const BlockParameters& parameters);
nlohmann::ordered_json to_json(const BeliefPropagationParameters& parameters);
nlohmann::ordered_json to_json(const CensusParameters& parameters);
nlohmann::ordered_json to_json(const TiledBeliefPropagationParameters& parameters);

// What methods have in common.
template <class Value>
using Choices = std::vector<std::pair<std::string, Value>>;

template <class Value>
std::string name_of(const Choices<Value>& choices, Value value) {
  for (const auto& [name, choice] : choices)
    if (choice == value) return name;
  return "";
}

const Choices<SubPixel>& sub_pixel_choices();
// Without the volume, which is no choice: a file of costs chooses it.
const Choices<DataCost>& data_cost_choices();
std::string name_of_cost(DataCost cost);

// Of --outside-cost and --no-outside-cost, which exclude each other.
void check_outside_cost(const CLI::App& app);

void add_refine_options(CLI::App& app, RefineParameters& refine);
void add_to_json(nlohmann::ordered_json& json, const RefineParameters& refine);

}  // namespace parallax::tool
