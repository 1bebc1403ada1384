// SPDX-License-Identifier: Apache-2.0
// Small OpenCL devices, which PoCL is disguised as: every kernel stays within their limits and gives the
// bytes of the reference, nothing is copied where the host shares their memory, and a device that does not
// keep what it reports is named.

#include <functional>
#include <random>

#include <gtest/gtest.h>

#include "devices/device_test.h"
#include "devices/opencl/program.h"
#include "devices/small_opencl_device.h"
#include "opencl_device.h"

namespace parallax::test {
namespace {

class SmallOpenclTest : public testing::Test {
 protected:
  void SetUp() override {
    PARALLAX_NEEDS_OPENCL();
    PARALLAX_NEEDS_GPU_KERNELS();
  }
};

template <class Parameters>
Parameters with_labels(Parameters parameters) {
  parameters.min_disparity = -3;
  parameters.disparities = 16;
  parameters.refine = RefineParameters::none();
  parameters.refine.left_right_check = true;
  parameters.sub_pixel = SubPixel::parabola;
  return parameters;
}

const MatcherParameters block = with_labels(BlockParameters()), census = with_labels(CensusParameters()),
                        belief_propagation = with_labels(BeliefPropagationParameters()),
                        semi_global = with_labels(SemiGlobalParameters());

MatcherParameters block_with_every_step() {
  BlockParameters parameters = with_labels(BlockParameters());
  parameters.uniqueness = 5;
  parameters.refine.speckle_size = 5;
  parameters.refine.refit = 7;
  parameters.refine.fill = Fill::planes;
  parameters.refine.median = parameters.refine.weighted_median = parameters.refine.bilateral = 3;
  return parameters;
}

void expect_bytes_of_the_reference(const MatcherParameters& parameters, const std::string& which) {
  const SynthPair pair = synth(Scene::layers, {70, 33}, 12);
  const Result expected = match(parameters, reference, views_with_masks(pair), 0x11, true);
  expect_same(expected, match(parameters, opencl_device, views_with_masks(pair), 0xEE, true),
              method_name(parameters) + ", " + which);
}

// Building kernels takes most of the time, so the devices whose kernels other tests run as a GPU have few.
TEST_F(SmallOpenclTest, MaliT604GivesTheBytesOfTheReference) {
  const DisguisedAs disguised(mali_t604());
  for (const MatcherParameters& parameters :
       {block_with_every_step(), census, belief_propagation, semi_global})
    expect_bytes_of_the_reference(parameters, "Mali-T604");
}

TEST_F(SmallOpenclTest, MaliG610GivesTheBytesOfTheReference) {
  const DisguisedAs disguised(mali_g610());
  for (const MatcherParameters& parameters : {block, census})
    expect_bytes_of_the_reference(parameters, "Mali-G610");
}

// In strips, because it has local memory.
TEST_F(SmallOpenclTest, AdrenoGivesTheBytesOfTheReference) {
  const DisguisedAs disguised(adreno());
  expect_bytes_of_the_reference(block, "Adreno");
}

TEST_F(SmallOpenclTest, IntelGivesTheBytesOfTheReference) {
  const DisguisedAs disguised(intel_gpu());
  expect_bytes_of_the_reference(census, "Intel");
}

// Planning builds all kernels, and asks for their limits. No other kernels need as much local memory.
TEST_F(SmallOpenclTest, KernelsForManyLabelsFitToo) {
  const DisguisedAs disguised(mali_t604());
  MatcherParameters parameters = semi_global;
  parameters.disparities() = 1024;
  EXPECT_FALSE(error_of([&] { Matcher(parameters, opencl_device, {small_size}); }));
}

TEST_F(SmallOpenclTest, ZnccNeedsDoubles) {
  BlockParameters parameters = with_labels(BlockParameters());
  parameters.cost = BlockCost::zncc;
  const auto refusal_of = [&](const SmallDevice& device) {
    const DisguisedAs disguised(device);
    return error_of([&] { Matcher(parameters, opencl_device, {small_size}); });
  };
  EXPECT_FALSE(refusal_of(mali_t604()));
  expect_error(refusal_of(mali_g610()), ErrorCategory::device,
               {"opencl:0.0 (Mali-G610 r0p0) has no cl_khr_fp64", "choose sad or ssd"});
}

// A device that does not round quotients correctly finds them in integers.
TEST_F(SmallOpenclTest, QuotientsAreThoseOfTheProcessor) {
  constexpr std::size_t count = 1 << 16;
  std::vector<float> values[3]{std::vector<float>(count), std::vector<float>(count),
                               std::vector<float>(count)};
  std::mt19937_64 random(1);
  for (std::size_t i = 0; i < count; ++i) {
    const auto some_bits = [&] { return static_cast<std::int64_t>(random() >> (1 + random() % 63)); };
    values[0][i] = static_cast<float>(i % 3 == 0 ? some_bits() : -some_bits());
    values[1][i] = static_cast<float>(1 + some_bits());
  }
  const DisguisedAs disguised(mali_g610());
  const opencl::Context context(0, 0);
  const opencl::Queue queue(context);
  const opencl::Program program(
      context,
      {{"quotients.cl",
        "kernel void quotients(global const float* a, global const float* b, global float* to) {"
        "  const int i = get_global_id(0); to[i] = quotient(a[i], b[i]); }"}},
      {});
  opencl::Memory memory[3];
  for (int i = 0; i < 3; ++i) {
    memory[i] = opencl::allocate(context, count * sizeof(float), opencl::device_memory(context));
    opencl::write(queue, memory[i].get(), 0, count * sizeof(float), values[i].data());
  }
  program.kernel("quotients")
      .launch(queue, {count / 64}, {64}, memory[0].get(), memory[1].get(), memory[2].get());
  std::byte* mapped = opencl::map(queue, memory[2].get(), CL_MAP_READ, 0, count * sizeof(float));
  const auto* found = reinterpret_cast<const float*>(mapped);
  for (std::size_t i = 0; i < count; ++i)
    ASSERT_EQ(found[i], values[0][i] / values[1][i]) << values[0][i] << " / " << values[1][i];
  opencl::unmap(queue, memory[2].get(), mapped);
}

// From the plan on: tables and pairs are written, and maps read, where the host has mapped them.
TEST_F(SmallOpenclTest, NothingIsCopiedWhereTheHostSharesTheMemory) {
  const DisguisedAs disguised(mali_g610());
  const SynthPair pair = small_pair();
  Result result(small_size);
  Matcher matcher(census, opencl_device, {small_size});
  for (int run = 0; run < 2; ++run) {
    const int maps_before = DisguisedAs::calls().maps;
    matcher.run(views_with_masks(pair), result.map());
    EXPECT_EQ(DisguisedAs::calls().maps - maps_before, 2) << "the pair, and its map";
  }
  const OpenclCalls& calls = DisguisedAs::calls();
  EXPECT_GT(calls.launches, 0);
  EXPECT_EQ(calls.writes, 0);
  EXPECT_EQ(calls.reads, 0);
  EXPECT_EQ(calls.maps, calls.unmaps);
}

TEST_F(SmallOpenclTest, DeviceWithoutAFeatureIsRefusedByItsName) {
  struct Case {
    std::string lacking;
    std::function<void(SmallDevice&)> change;
  };
  const auto without = [](const std::string& extension) {
    return Case{extension, [=](SmallDevice& device) {
                  device.extensions.replace(device.extensions.find(extension), extension.size(), "");
                }};
  };
  for (const Case& one :
       {without("cl_khr_byte_addressable_store"), without("cl_khr_local_int32_extended_atomics"),
        Case{"work groups of 64 work items", [](SmallDevice& device) { device.group_items = 32; }},
        Case{"cles_khr_int64", [](SmallDevice& device) { device.profile = "EMBEDDED_PROFILE"; }},
        Case{"floats rounded to the nearest",
             [](SmallDevice& device) { device.floats = CL_FP_ROUND_TO_ZERO | CL_FP_INF_NAN; }},
        Case{"infinite floats", [](SmallDevice& device) { device.floats = CL_FP_ROUND_TO_NEAREST; }}}) {
    SmallDevice device = mali_t604();
    one.change(device);
    const DisguisedAs disguised(device);
    expect_error(error_of([&] { Matcher(small_census(), opencl_device, {small_size}); }),
                 ErrorCategory::device,
                 {"opencl:0.0 (Mali-T604) lacks " + one.lacking + ",", "choose another device"});
  }
}

TEST_F(SmallOpenclTest, EmbeddedProfileWithLongIntegersMatches) {
  SmallDevice device = mali_t604();
  device.profile = "EMBEDDED_PROFILE";
  device.extensions += " cles_khr_int64";
  const DisguisedAs disguised(device);
  expect_bytes_of_the_reference(census, "embedded profile");
}

std::optional<Error> error_of_match_on(const SmallDevice& device) {
  const DisguisedAs disguised(device);
  const SynthPair pair = small_pair();
  return error_of([&] { match(census, opencl_device, views_with_masks(pair)); });
}

TEST_F(SmallOpenclTest, DeviceThatLaunchesFewerWorkItemsThanItSaysIsNamed) {
  SmallDevice device = mali_g610();
  device.launched_items = 16;
  expect_error(error_of_match_on(device), ErrorCategory::device,
               {"launching kernel take", "on opencl:0.0 (Mali-G610 r0p0)", "CL_OUT_OF_RESOURCES",
                "choose another device"});
}

TEST_F(SmallOpenclTest, DeviceWhoseKernelsAllowTooFewWorkItemsIsNamed) {
  SmallDevice device = mali_g610();
  device.kernel_items = 32;
  expect_error(error_of_match_on(device), ErrorCategory::device,
               {"opencl:0.0 (Mali-G610 r0p0) allows 32 work items in a group of kernel take, which needs 256",
                "update its driver, or choose another device"});
}

TEST_F(SmallOpenclTest, DeviceWithoutEnoughLocalMemoryIsNamed) {
  SmallDevice device = mali_g610();
  device.local_bytes = 512;
  expect_error(error_of_match_on(device), ErrorCategory::device,
               {"opencl:0.0 (Mali-G610 r0p0) has 512 bytes of local memory for kernel describe, which needs",
                "choose another device"});
}

TEST_F(SmallOpenclTest, DeviceWhoseCompilerLacksResourcesIsNamed) {
  SmallDevice device = mali_g610();
  device.build_result = CL_OUT_OF_RESOURCES;
  expect_error(error_of_match_on(device), ErrorCategory::device,
               {"opencl:0.0 (Mali-G610 r0p0) does not build", "for groups of 64", "CL_OUT_OF_RESOURCES",
                "choose another device"});
}

TEST_F(SmallOpenclTest, DeviceWhoseCompilerFailsIsNamed) {
  SmallDevice device = mali_g610();
  device.build_result = CL_BUILD_PROGRAM_FAILURE;
  expect_error(error_of_match_on(device), ErrorCategory::internal,
               {"does not build for opencl:0.0 (Mali-G610 r0p0)", "CL_BUILD_PROGRAM_FAILURE",
                "choose another device"});
}

}  // namespace
}  // namespace parallax::test
