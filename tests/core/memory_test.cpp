// SPDX-License-Identifier: Apache-2.0
#include "core/memory.h"

#include <cstdint>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "support.h"

namespace parallax::test {
namespace {

namespace fs = std::filesystem;

// The test has its own file system.
class ContainerMemoryTest : public ::testing::Test {
 protected:
  void put(const std::string& name, const std::string& text) const {
    fs::create_directories((root_ / name).parent_path());
    std::ofstream(root_ / name) << text << "\n";
  }
  std::size_t limit() const { return container_memory(root_); }

  const TemporaryFolder folder_;
  const fs::path root_ = folder_.path();
};

TEST_F(ContainerMemoryTest, NoGroupIsNoLimit) {
  EXPECT_EQ(limit(), SIZE_MAX);
  put("proc/self/cgroup", "0::/\nnonsense");
  EXPECT_EQ(limit(), SIZE_MAX);
}

TEST_F(ContainerMemoryTest, RootOfAContainerIsItsLimit) {
  put("sys/fs/cgroup/memory.max", "1000");
  EXPECT_EQ(limit(), 1000u);
  put("proc/self/cgroup", "0::/");
  EXPECT_EQ(limit(), 1000u);
}

TEST_F(ContainerMemoryTest, NestedGroupOfVersion2IsSeen) {
  put("proc/self/cgroup", "0::/user.slice/job 1/step");
  put("sys/fs/cgroup/user.slice/memory.max", "9000");
  put("sys/fs/cgroup/user.slice/job 1/memory.max", "3000");
  put("sys/fs/cgroup/user.slice/job 1/step/memory.max", "max");
  EXPECT_EQ(limit(), 3000u);
  put("sys/fs/cgroup/user.slice/job 1/step/memory.max", "2000");
  EXPECT_EQ(limit(), 2000u);
}

TEST_F(ContainerMemoryTest, GroupOfVersion1IsSeen) {
  put("proc/self/cgroup", "12:cpuset:/\n5:hugetlb,memory:/slurm/job\n1:name=systemd:/init\n0::/");
  put("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712");
  EXPECT_EQ(limit(), 9223372036854771712u);
  put("sys/fs/cgroup/memory/slurm/memory.limit_in_bytes", "5000");
  EXPECT_EQ(limit(), 5000u);
  put("sys/fs/cgroup/memory/slurm/job/memory.limit_in_bytes", "4000");
  EXPECT_EQ(limit(), 4000u);
}

// In a container, /proc names the group as on the host, and /sys starts at that group.
TEST_F(ContainerMemoryTest, GroupThatIsTheRootInAContainerIsSeen) {
  put("proc/self/cgroup", "4:memory:/docker/0123abcd");
  put("sys/fs/cgroup/memory/memory.limit_in_bytes", "7000");
  EXPECT_EQ(limit(), 7000u);
}

}  // namespace
}  // namespace parallax::test
