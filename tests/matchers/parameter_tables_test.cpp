// SPDX-License-Identifier: Apache-2.0
// Every method has a table of its parameters on a page of docs/, between two lines such as
//
//   <!-- parameters of block -->
//   <!-- end of parameters -->
//
// After changing a parameter, update the tables:
//
//   PARALLAX_UPDATE_DOCS=1 build/developer/tests/test_parameters --gtest_filter='ParameterTables*'

#include "matchers/parameter_tables.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "support.h"

namespace parallax::test {
namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

void expect_table(const std::string& name, const std::string& table) {
  const std::string first = "<!-- parameters of " + name + " -->\n", last = "<!-- end of parameters -->";
  for (const auto& page : fs::directory_iterator(PARALLAX_DOCS)) {
    if (page.path().extension() != ".md") continue;
    std::string text = text_of(page);
    const std::size_t begin = text.find(first);
    if (begin == std::string::npos) continue;
    const std::size_t end = text.find(last, begin);
    ASSERT_NE(end, std::string::npos) << page.path();
    const std::size_t after = begin + first.size();
    if (std::getenv("PARALLAX_UPDATE_DOCS") != nullptr)
      std::ofstream(page.path()) << text.replace(after, end - after, table);
    EXPECT_EQ(text.substr(after, table.size()), table)
        << page.path() << " is out of date: run this test with PARALLAX_UPDATE_DOCS=1";
    return;
  }
  ADD_FAILURE() << "no page of docs/ has the line " << first;
}

TEST(ParameterTablesTest, EveryMethodHasItsTableOnAPage) {
  for (const std::string& method : list_methods()) expect_table(method, parameter_table(method));
}

TEST(ParameterTablesTest, TheRefinementHasItsTableOnAPage) {
  expect_table("refinement", refinement_table());
}

}  // namespace
}  // namespace parallax::test
