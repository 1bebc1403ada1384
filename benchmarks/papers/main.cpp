// SPDX-License-Identifier: Apache-2.0
// The tables of five papers, measured here: what 'parallax bench --suite papers' starts.
#include "benchmarks/papers/suite.h"

int main(int count, char** values) {
  return parallax::tool::run_program(count, values, parallax::tool::papers_command);
}
