// SPDX-License-Identifier: Apache-2.0
// Prints the vector instructions of this machine as Highway names them, the widest first.
#include <cstdint>
#include <cstdio>

#include <hwy/targets.h>

int main() {
  for (std::int64_t targets = hwy::SupportedTargets(); targets != 0; targets &= targets - 1)
    std::printf("%s;", hwy::TargetName(targets & -targets));
}
