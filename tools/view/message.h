// SPDX-License-Identifier: Apache-2.0
// Messages to the page: JSON and planes of pixels. README.md has their form.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "parallax/image.h"

#include "tools/command/json.h"

namespace parallax::view {

class Message {
 public:
  explicit Message(nlohmann::ordered_json head) : head_(std::move(head)) {
    head_["planes"] = nlohmann::ordered_json::array();
  }

  // Appends rows of `size.width` pixels with `channels` values each.
  void add(const std::string& name, std::span<const std::uint8_t> values, Size size, int channels = 1);
  void add(const std::string& name, std::span<const std::uint16_t> values, Size size);

  // Sets a member of the JSON.
  void set(const std::string& name, nlohmann::ordered_json value) { head_[name] = std::move(value); }

  std::string bytes() const;

 private:
  void add(const std::string& name, const char* type, std::span<const std::byte> bytes, Size size,
           int channels);

  nlohmann::ordered_json head_;
  std::string planes_;
};

}  // namespace parallax::view
