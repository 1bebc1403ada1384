// SPDX-License-Identifier: Apache-2.0
#include "tools/files/content_hash.h"

#include "support.h"
#include "tools/command_fixture.h"

namespace parallax::test {
namespace {

TEST(ContentHashTest, AFileHasTheHashOfItsBytes) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "file").string();
  EXPECT_EQ(tool::content_hash(""), "99aa06d3014798d86001c324468d497f");  // as xxhsum -H2 prints
  // Longer than a part.
  std::string text(1'000'003, 'x');
  for (const std::string& contents : {std::string(), std::string("a"), text}) {
    write(path, contents);
    EXPECT_EQ(tool::file_hash(path), tool::content_hash(contents));
  }
  const std::string before = tool::content_hash(text);
  text[999'999] = 'y';
  EXPECT_NE(tool::content_hash(text), before);
  EXPECT_THROW(tool::file_hash(path + ".none"), Error);
}

}  // namespace
}  // namespace parallax::test
