// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "parallax/error.h"
#include "parallax/formats.h"

#include "core/checks.h"
#include "formats/text.h"

namespace parallax {
namespace {

// Up to this cost, a float holds every integer, and the halves that rounding adds.
constexpr long long highest_cost = 1 << 23;

std::size_t count_words(std::string_view text) {
  std::size_t count = 0;
  while (!next_word(text).empty()) ++count;
  return count;
}

Size parse_size(std::string_view& text, const std::string& name) {
  const auto width = parse_number<long long>(next_word(text));
  const auto height = parse_number<long long>(next_word(text));
  return checked_size(width, height, name, "begins with",
                      ": give a file of data costs, whose first line is its width and height");
}

[[noreturn]] void fail_for_count(const std::string& name, Size size, int labels, std::size_t count) {
  const std::size_t needed = size.pixels() * static_cast<std::size_t>(labels);
  fail(name, std::string(count < needed ? "is cut short" : "is too long") + ": " + text(size) +
                 " pixels with " + std::to_string(labels) + " labels have " + std::to_string(needed) +
                 " costs, there are " + std::to_string(count) +
                 ": give the complete file and its number of labels");
}

// `word` lies in the text that begins with `from`.
std::size_t line_of(std::string_view from, std::string_view word) {
  return 1 + static_cast<std::size_t>(std::count(from.data(), word.data(), '\n'));
}

}  // namespace

CostArray parse_costs(std::string_view all, int labels, const std::string& name) {
  check_range("labels", labels, 2, 1024);
  std::string_view rest = all;
  CostArray array{parse_size(rest, name), labels, {}};
  const std::size_t count = array.size.pixels() * static_cast<std::size_t>(labels);
  // A cost takes at least a space and a digit: refuses a size that the text cannot fill before allocating
  // memory for it.
  if (rest.size() / 2 < count) fail_for_count(name, array.size, labels, count_words(rest));
  array.costs.reserve(count);
  const std::string_view costs = rest;
  while (array.costs.size() < count) {
    const std::string_view word = next_word(rest);
    if (word.empty()) fail_for_count(name, array.size, labels, array.costs.size());
    const auto cost = parse_number<long long>(word);
    if (!cost || *cost < -highest_cost || *cost > highest_cost)
      fail(name, "line " + std::to_string(line_of(all, word)) + ", cost " +
                     std::to_string(array.costs.size() + 1) + " is not an integer from " +
                     std::to_string(-highest_cost) + " to " + std::to_string(highest_cost) +
                     ": round the costs, or scale them");
    array.costs.push_back(static_cast<float>(*cost));
  }
  if (!next_word(rest).empty()) fail_for_count(name, array.size, labels, count_words(costs));
  return array;
}

CostArray read_costs(const std::string& path, int labels) {
  const std::vector<std::byte> bytes = read_file(path);
  return parse_costs({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, labels, path);
}

std::string encode_costs(const CostVolume& costs) {
  std::string text = std::to_string(costs.size.width) + " " + std::to_string(costs.size.height) + "\n";
  for (int y = 0; y < costs.size.height; ++y) {
    for (int x = 0; x < costs.size.width; ++x) {
      for (int label = 0; label < costs.labels; ++label) {
        const float cost = costs.at(x, y)[label];
        if (!(std::abs(cost) <= static_cast<float>(highest_cost)) || cost != std::floor(cost))
          refuse("cost", cost,
                 "an integer from " + std::to_string(-highest_cost) + " to " + std::to_string(highest_cost));
        text += std::to_string(static_cast<long long>(cost)) + (label + 1 < costs.labels ? ' ' : '\n');
      }
    }
  }
  return text;
}

}  // namespace parallax
