// SPDX-License-Identifier: Apache-2.0
#include "kernel_finder.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <string_view>

namespace emulated {
namespace {

bool begins_word(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_';
}

bool is_in_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

// Reads a program token by token, as far as needed to recognise kernels.
class Finder {
 public:
  explicit Finder(std::string& program) : program_(program) {}

  std::vector<FoundKernel> find() {
    while (at_ < program_.size()) read_token();
    return std::move(found_);
  }

 private:
  void read_token() {
    const char c = program_[at_];
    if (c == '"' || c == '\'') {
      skip_literal(c);
    } else if (c == '#') {
      at_ = std::min(program_.find('\n', at_), program_.size());  // a line marker of the preprocessor
    } else if (begins_word(c)) {
      read_word();
    } else if (std::isdigit(static_cast<unsigned char>(c)) != 0) {
      skip_number();
    } else {
      read_sign(c);
    }
  }

  void skip_literal(char quote) {
    for (++at_; at_ < program_.size() && program_[at_] != quote; ++at_)
      if (program_[at_] == '\\') ++at_;
    ++at_;
  }

  // Digits may be grouped: 1'000
  void skip_number() {
    while (at_ < program_.size() && (is_in_word(program_[at_]) || program_[at_] == '\'')) ++at_;
  }

  void read_word() {
    const std::size_t begin = at_;
    while (at_ < program_.size() && is_in_word(program_[at_])) ++at_;
    const std::string word = program_.substr(begin, at_ - begin);
    if (word == "__global__") {
      is_kernel_ = true;
      blank_out(begin);
    } else if (word == "__launch_bounds__") {
      bounds_ = read_parentheses();
      blank_out(begin);
    } else if (word == "template") {
      is_template_ = true;
    } else {
      last_word_ = word;
    }
  }

  // The text between the next opening parenthesis and the one that closes it.
  std::string read_parentheses() {
    const std::size_t begin = program_.find('(', at_);
    if (begin == std::string::npos) return "";
    int depth = 0;
    for (at_ = begin; at_ < program_.size(); ++at_) {
      if (program_[at_] == '(') ++depth;
      if (program_[at_] == ')' && --depth == 0) break;
    }
    ++at_;
    return program_.substr(begin + 1, at_ - begin - 2);
  }

  // Keeps the line breaks.
  void blank_out(std::size_t begin) {
    for (std::size_t i = begin; i < std::min(at_, program_.size()); ++i)
      if (program_[i] != '\n') program_[i] = ' ';
  }

  void read_sign(char sign) {
    ++at_;
    if (sign == '(' && is_kernel_ && !is_template_) add_kernel();
    if (sign == '(') is_kernel_ = false;
    if (sign == ';' || sign == '{' || sign == '}') {
      is_kernel_ = is_template_ = false;
      bounds_.clear();
    }
  }

  // A declaration and its definition count once.
  void add_kernel() {
    for (FoundKernel& kernel : found_)
      if (kernel.name == last_word_) {
        if (!bounds_.empty()) kernel.launch_bounds = bounds_;
        return;
      }
    found_.push_back({last_word_, bounds_});
  }

  std::string& program_;
  std::size_t at_ = 0;
  std::string last_word_, bounds_;
  bool is_kernel_ = false, is_template_ = false;
  std::vector<FoundKernel> found_;
};

}  // namespace

std::vector<FoundKernel> take_out_kernels(std::string& program) {
  return Finder(program).find();
}

}  // namespace emulated
