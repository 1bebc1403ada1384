// SPDX-License-Identifier: Apache-2.0
#include "parallax/device.h"

#include <algorithm>
#include <sstream>

#include <gtest/gtest.h>
#include <hwy/detect_compiler_arch.h>

#include "devices/devices.h"
#include "support.h"

namespace parallax {
namespace {

TEST(DeviceTest, ParsesEveryForm) {
  struct Case {
    const char* text;
    DeviceKind kind;
    int platform, index;
  };
  for (const Case& c : {Case{"reference", DeviceKind::reference, 0, 0},
                        {"cpu", DeviceKind::cpu, 0, 0},
                        {"cuda", DeviceKind::cuda, 0, 0},
                        {"cuda:0", DeviceKind::cuda, 0, 0},
                        {"cuda:12", DeviceKind::cuda, 0, 12},
                        {"opencl", DeviceKind::opencl, 0, 0},
                        {"opencl:3", DeviceKind::opencl, 3, 0},
                        {"opencl:3.14", DeviceKind::opencl, 3, 14}}) {
    const Device device = Device::parse(c.text);
    EXPECT_EQ(device.kind, c.kind) << c.text;
    EXPECT_EQ(device.platform, c.platform) << c.text;
    EXPECT_EQ(device.index, c.index) << c.text;
    EXPECT_EQ(device.threads, 0) << c.text;
  }
}

TEST(DeviceTest, AutoIsADeviceOfThisMachine) {
  const std::vector<DeviceDescription> devices = list_devices();
  const std::string chosen = Device::parse("auto").text();
  EXPECT_TRUE(std::any_of(devices.begin(), devices.end(), [&](const auto& d) { return d.device == chosen; }))
      << chosen;
}

TEST(DeviceTest, RefusesAnyOtherText) {
  for (const std::string text : {"",
                                 " ",
                                 "gpu",
                                 "CPU",
                                 "cpu ",
                                 " cpu",
                                 "cpus",
                                 "cp",
                                 "cpu:",
                                 "cpu:0",
                                 "reference:0",
                                 "auto:0",
                                 "cuda:",
                                 "cuda:-1",
                                 "cuda:+1",
                                 "cuda:1x",
                                 "cuda: 1",
                                 "cuda:1.0",
                                 "cuda:4294967296",
                                 "cuda0",
                                 "opencl:",
                                 "opencl:.",
                                 "opencl:1.",
                                 "opencl:.1",
                                 "opencl:1.2.3",
                                 "opencl:-1",
                                 "opencl:1.-1",
                                 "opencl:a.b",
                                 ":0"})
    test::expect_refused([&] { Device::parse(text); }, "'" + text + "'");
}

TEST(DeviceTest, TextIsReadBack) {
  for (const Device& device : {Device{DeviceKind::reference}, Device{DeviceKind::cpu},
                               Device{DeviceKind::cuda, 0, 2}, Device{DeviceKind::opencl, 1, 0},
                               Device{DeviceKind::opencl, 0, 1}, Device{DeviceKind::opencl, 4, 5}}) {
    const Device read = Device::parse(device.text());
    EXPECT_EQ(read.kind, device.kind) << device.text();
    EXPECT_EQ(read.platform, device.platform) << device.text();
    EXPECT_EQ(read.index, device.index) << device.text();
  }
}

TEST(DeviceTest, SeveralAreSeparatedByCommas) {
  std::vector<std::string> names;
  for (const Device& device : parse_devices("cuda:1,cpu,opencl:0.1,cpu,cuda")) names.push_back(device.text());
  EXPECT_EQ(names, (std::vector<std::string>{"cuda:1", "cpu", "opencl:0.1", "cuda:0"}));
  for (const char* text : {"", ",", "cpu,", ",cpu", "cpu;cuda", "cpu, cuda", "cpu:all", "cuda:all:"})
    test::expect_refused([&] { parse_devices(text); }, "choose auto");
}

TEST(DeviceTest, KindsHaveTheNamesOfTheCommandLine) {
  EXPECT_STREQ(name(DeviceKind::reference), "reference");
  EXPECT_STREQ(name(DeviceKind::cpu), "cpu");
  EXPECT_STREQ(name(DeviceKind::cuda), "cuda");
  EXPECT_STREQ(name(DeviceKind::opencl), "opencl");
}

TEST(DeviceTest, EveryListedDeviceCanBeParsedAndIsDescribed) {
  const std::vector<DeviceDescription> devices = list_devices();
  ASSERT_GE(devices.size(), 2u);
  for (const DeviceDescription& device : devices) {
    EXPECT_EQ(Device::parse(device.device).text(), device.device);
    EXPECT_FALSE(device.description.empty());
  }
}

// Virtual machines give processors of several generations the same name.
TEST(DeviceTest, AProcessorIsKnownByItsModel) {
  std::istringstream x86(
      "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 26\nmodel\t\t: 2\n"
      "model name\t: AMD EPYC\nflags\t\t:\n\nprocessor\t: 1\nmodel\t\t: 3\n");
  const ProcessorNames epyc = read_processor_names(x86);
  EXPECT_EQ(epyc.name, "AMD EPYC");
  EXPECT_EQ(epyc.with_model, "AMD EPYC (family 26, model 2)");
  std::istringstream arm(
      "processor\t: 0\nCPU implementer\t: 0x41\nCPU architecture: 8\nCPU variant\t: 0x1\n"
      "CPU part\t: 0xd40\n");
  EXPECT_EQ(read_processor_names(arm).with_model, "processor (implementer 0x41, part 0xd40)");
  std::istringstream nothing;
  EXPECT_EQ(read_processor_names(nothing).with_model, "processor");
}

// Plans count threads, not cores.
TEST(DeviceTest, AProcessorIsKnownByItsThreads) {
  EXPECT_NE(identify_cpu(1).name.find(", 1 thread, "), std::string::npos) << identify_cpu(1).name;
  EXPECT_NE(identify_cpu(1000).name.find(", 1000 threads, "), std::string::npos) << identify_cpu(1000).name;
}

class CpuTargetTest : public ::testing::Test {
 protected:
  void TearDown() override { force_cpu_target(""); }
};

TEST_F(CpuTargetTest, EveryTargetCanBeForcedAndTheRestrictionLifted) {
  const std::vector<std::string> targets = cpu_targets();
  ASSERT_FALSE(targets.empty());
  for (const std::string& target : targets) {
    force_cpu_target(target);
    EXPECT_EQ(active_cpu_target(), target);
    EXPECT_EQ(cpu_targets(), targets);
  }
  force_cpu_target("");
  EXPECT_EQ(active_cpu_target(), targets.front());
}

TEST_F(CpuTargetTest, UnknownNameIsRefusedWithTheKnownOnes) {
  for (const std::string unknown : {"MMX", "avx2", "AVX2 "})
    test::expect_error(test::error_of([&] { force_cpu_target(unknown); }), ErrorCategory::argument,
                       {unknown, cpu_targets().front()});
}

TEST(DeviceTest, ABuildForOneKindOfProcessorKnowsWhatAnotherLacks) {
  const std::string lacking = lacking_vectors(0);
  EXPECT_EQ(lacking, cpu_targets().size() > 1 || HWY_ARCH_ARM_A64 ? "" : cpu_targets().front());
  EXPECT_EQ(lacking_vectors(~std::int64_t{0}), "");
}

}  // namespace
}  // namespace parallax
