// SPDX-License-Identifier: Apache-2.0
#include "core/available_threads.h"

#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "support.h"

namespace parallax::test {
namespace {

namespace fs = std::filesystem;

class GrantedProcessorsTest : public ::testing::Test {
 protected:
  // Writes a file below the root.
  void write(const fs::path& path, const std::string& text) const {
    fs::create_directories((root_.path() / path).parent_path());
    std::ofstream(root_.path() / path) << text;
  }
  void write_version_2(const std::string& group, const std::string& mounted_group = "/") const {
    write("proc/self/cgroup", "0::" + group + "\n");
    write("proc/self/mountinfo",
          "22 1 0:20 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n31 22 0:28 " + mounted_group +
              " /sys/fs/cgroup rw,nosuid shared:9 master:3 - cgroup2 cgroup2 rw,nsdelegate\n");
  }
  void write_version_1(const std::string& group, const std::string& mounted_group = "/") const {
    write("proc/self/cgroup", "9:cpuset:/elsewhere\n4:cpu,cpuacct:" + group + "\n1:name=systemd:/\n0::/\n");
    write("proc/self/mountinfo", "32 31 0:29 " + mounted_group +
                                     " /sys/fs/cgroup/cpu\\040time rw - cgroup cgroup rw,cpu,cpuacct\n"
                                     "33 31 0:30 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n");
  }
  void write_quota(const fs::path& group, const std::string& quota,
                   const std::string& period = "100000") const {
    const fs::path folder = "sys/fs/cgroup/cpu time" / group;
    write(folder / "cpu.cfs_quota_us", quota + "\n");
    write(folder / "cpu.cfs_period_us", period + "\n");
  }
  std::optional<int> granted() const { return granted_processors(root_.path()); }

  TemporaryFolder root_;
};

TEST_F(GrantedProcessorsTest, WithoutGroupsAllAreGranted) {
  EXPECT_EQ(granted(), std::nullopt);
}

TEST_F(GrantedProcessorsTest, QuotasAreRoundedUp) {
  write_version_2("/");
  for (const auto& [text, count] :
       {std::pair("200000 100000\n", 2), std::pair("200001 100000", 3), std::pair("1 100000", 1)}) {
    write("sys/fs/cgroup/cpu.max", text);
    EXPECT_EQ(granted(), count) << text;
  }
}

TEST_F(GrantedProcessorsTest, TheLeastOfNestedGroupsCounts) {
  write_version_2("/user.slice/job/step");
  write("sys/fs/cgroup/user.slice/cpu.max", "350000 100000");
  write("sys/fs/cgroup/user.slice/job/cpu.max", "800000 100000");
  write("sys/fs/cgroup/user.slice/job/step/cpu.max", "max 100000");
  write("sys/fs/cgroup/other.slice/cpu.max", "100000 100000");
  EXPECT_EQ(granted(), 4);
  write("sys/fs/cgroup/user.slice/job/step/cpu.max", "100000 50000");
  EXPECT_EQ(granted(), 2);
}

TEST_F(GrantedProcessorsTest, AContainerSeesItsOwnGroupAsTheRoot) {
  write_version_2("/docker/ab/inner", "/docker/ab");
  write("sys/fs/cgroup/cpu.max", "300000 100000");
  EXPECT_EQ(granted(), 3);
  write("sys/fs/cgroup/inner/cpu.max", "150000 100000");
  EXPECT_EQ(granted(), 2);
}

TEST_F(GrantedProcessorsTest, AGroupOutsideTheMountedOneHasNoQuota) {
  write("sys/fs/cgroup/cpu.max", "100000 100000");
  for (const char* group : {"/docker/abc", "/", "/../cd"}) {
    write_version_2(group, "/docker/ab");
    EXPECT_EQ(granted(), std::nullopt) << group;
  }
}

TEST_F(GrantedProcessorsTest, VersionOneHasTwoFiles) {
  write_version_1("/jobs/7", "/jobs");
  write_quota("", "-1");
  EXPECT_EQ(granted(), std::nullopt);
  write_quota("7", "250000");
  EXPECT_EQ(granted(), 3);
  write_quota("", "40000", "20000");
  EXPECT_EQ(granted(), 2);
}

TEST_F(GrantedProcessorsTest, MalformedFilesGrantAll) {
  write_version_2("/");
  for (const char* text :
       {"", "max", "max 100000", "100000", "100000 0", "0 100000", "-5 100000", "1e5 100000", "1.5 1",
        "100000x 100000", "100000 100000x", "99999999999999999999 100000", "\n\n", "\xff\xfe"}) {
    write("sys/fs/cgroup/cpu.max", text);
    EXPECT_EQ(granted(), std::nullopt) << text;
  }
  write("sys/fs/cgroup/cpu.max", "100000 100000");
  EXPECT_EQ(granted(), 1);
  for (const char* text : {"", "0", "0::", "::", "nothing\n", "0:/\n", "x::/\n"}) {
    write("proc/self/cgroup", text);
    EXPECT_EQ(granted(), std::nullopt) << text;
  }
  write_version_2("/");
  for (const char* text :
       {"", " - ", "31 22 0:28 / - cgroup2 cgroup2 rw\n", "31 22 0:28 / /sys/fs/cgroup rw - cgroup2\n",
        "31 22 0:28 / /sys/fs/cgroup rw cgroup2 cgroup2 rw\n"}) {
    write("proc/self/mountinfo", text);
    EXPECT_EQ(granted(), std::nullopt) << text;
  }
  write_version_1("/");
  for (const char* text : {"", "x", "100000x", "\n"}) {
    write_quota("", "100000", text);
    EXPECT_EQ(granted(), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace parallax::test
