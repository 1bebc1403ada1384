// SPDX-License-Identifier: Apache-2.0
#include "opencl_device.h"
#include "remap/random_remap.h"

namespace parallax::test {
namespace {

void expect_bytes_of_the_reference(unsigned first_seed) {
  for (unsigned seed = first_seed; seed < first_seed + 10; ++seed) {
    const RemapCase problem = random_remap(seed);
    EXPECT_TRUE(remap_on(opencl_device, problem, seed, 2) == remap_on(reference, problem, seed))
        << "seed " << seed << ": " << describe(problem);
  }
}

TEST(OpenclRemapTest, GivesTheBytesOfTheReference) {
  PARALLAX_NEEDS_OPENCL();
  expect_bytes_of_the_reference(3000);
}

TEST(OpenclRemapTest, GivesTheBytesOfTheReferenceOnGpus) {
  PARALLAX_NEEDS_OPENCL();
  PARALLAX_NEEDS_GPU_KERNELS();
  const Disguised disguised(as_gpu);
  expect_bytes_of_the_reference(3100);
}

}  // namespace
}  // namespace parallax::test
