// SPDX-License-Identifier: Apache-2.0
#include "parallax/error.h"

#include <cerrno>

#include <gtest/gtest.h>

namespace parallax {
namespace {

std::string what_of(const std::string& message) {
  return Error(ErrorCategory::file, message).what();
}

TEST(ErrorTest, NamesOfFilesBringNoControlCharactersIntoAMessage) {
  EXPECT_EQ(what_of("cannot read a\rb: no\nsuch\tfile"), "cannot read a\\rb: no\\nsuch\\tfile");
  EXPECT_EQ(what_of("\x1b[2Jx\x7f"), "\\x1b[2Jx\\x7f");
  EXPECT_EQ(what_of(std::string("a\0b", 3)), "a\\x00b");
  // U+009B begins a control sequence, as ESC [ does.
  EXPECT_EQ(what_of("a\xC2\x9B"
                    "2J"),
            "a\\x9b2J");
}

TEST(ErrorTest, LettersBeyondAsciiStay) {
  EXPECT_EQ(what_of("3×3, Zürich, \xC2\xA0, \xC2"), "3×3, Zürich, \xC2\xA0, \xC2");
  EXPECT_EQ(what_of(""), "");
}

TEST(ErrorTest, SaysWhetherItMayPass) {
  EXPECT_FALSE(Error(ErrorCategory::device, "x").is_transient());
  EXPECT_TRUE(Error(ErrorCategory::device, "x", true).is_transient());
  for (const int reason : {ENOSPC, EDQUOT, EIO, ENOMEM, ESTALE, EAGAIN})
    EXPECT_TRUE(is_transient(reason)) << reason;
  for (const int reason : {0, ENOENT, EACCES, EISDIR, ENOTDIR, EROFS, EFBIG, ENAMETOOLONG})
    EXPECT_FALSE(is_transient(reason)) << reason;
}

}  // namespace
}  // namespace parallax
