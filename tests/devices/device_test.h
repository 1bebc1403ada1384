// SPDX-License-Identifier: Apache-2.0
// What tests of devices share: surroundings of a test's own, small matches, and errors.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>
#include <stdlib.h>

#include "parallax/parallax.h"

#include "support.h"

namespace parallax::test {

// A folder of its own, removed at its end.
class TemporaryFolder {
 public:
  TemporaryFolder() : path_((std::filesystem::temp_directory_path() / "parallax-test-XXXXXX").string()) {
    if (mkdtemp(path_.data()) == nullptr) throw std::runtime_error("no temporary folder");
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::filesystem::path path() const { return path_; }

 private:
  std::string path_;
};

// A variable of the environment has another value, or none, for as long as this lives.
class Variable {
 public:
  Variable(const char* name, const std::optional<std::string>& value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    set(value);
  }
  ~Variable() { set(before_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  void set(const std::optional<std::string>& value) const {
    if (value)
      setenv(name_, value->c_str(), 1);
    else
      unsetenv(name_);
  }

  const char* name_;
  std::optional<std::string> before_;
};

inline BlockParameters small_block() {
  BlockParameters parameters;
  parameters.disparities = 5;
  parameters.window = 5;
  parameters.uniqueness = 5;
  parameters.texture_threshold = 10;
  parameters.refine.speckle_size = 3;
  parameters.refine.weighted_median = 3;
  parameters.refine.bilateral = 3;
  return parameters;
}

inline CensusParameters small_census() {
  CensusParameters parameters;
  parameters.disparities = 5;
  parameters.pyramid_levels = 3;
  parameters.uniqueness = 5;
  parameters.refine.speckle_size = 3;
  parameters.refine.weighted_median = 3;
  return parameters;
}

inline constexpr Size small_size{9, 7};

inline SynthPair small_pair(std::uint64_t seed = 1) {
  return synthesize({.size = small_size, .disparities = 5, .seed = seed});
}

inline StereoPair views(const SynthPair& pair) {
  return {pair.left_view(), pair.right_view(), pair.left_mask.view(), pair.right_mask.view()};
}

// What a call throws; none when it throws nothing.
template <class Call>
std::optional<Error> error_of(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return error;
  }
  return std::nullopt;
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// An error for people: one line, with all of these in it.
inline void expect_error(const std::optional<Error>& error, ErrorCategory category,
                         std::initializer_list<std::string> parts) {
  ASSERT_TRUE(error.has_value()) << "no error";
  const std::string message = error->what();
  EXPECT_EQ(error->category(), category) << message;
  EXPECT_FALSE(contains(message, "\n")) << message;
  for (const std::string& part : parts) EXPECT_TRUE(contains(message, part)) << message << "\nlacks " << part;
}

}  // namespace parallax::test
