// SPDX-License-Identifier: Apache-2.0
// Measures and prints the tables of five papers; 'parallax bench --suite papers' starts it.
#include "benchmarks/papers/suite.h"

int main(int count, char** values) {
  return parallax::tool::run_program(count, values, parallax::tool::papers_command);
}
