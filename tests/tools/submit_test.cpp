// SPDX-License-Identifier: Apache-2.0
// 'parallax submit' with a scheduler that runs a job when it is submitted. tests/slurm/ has a real one.
#include "command_fixture.h"
#include "tools/jobs/submit/slurm.h"
#include "tools/jobs/tiles/results.h"

namespace parallax::test {
namespace {

// Numbers jobs and keeps their arguments. Skips the tasks that LOST names as JOB_TASK, as if their node had
// died; refuses job REFUSED.
constexpr const char* sbatch = R"script(#!/bin/bash
number=$(($(cat jobs/last 2>/dev/null) + 1))
if [ "$number" = "$REFUSED" ]; then
  printf 'sbatch: error: invalid partition specified: x\nsbatch: error: Batch job submission failed: No partition\n' >&2
  exit 1
fi
echo "$number" >jobs/last
printf '%s\n' "$@" >"jobs/$number"
script=${*: -1}
tasks=$(sed -n 's/^#SBATCH --array=0-//p' "$script")
for task in $(seq 0 "${tasks:-0}"); do
  [ "${number}_$task" = "$LOST" ] || SLURM_ARRAY_TASK_ID=$task SLURM_CPUS_ON_NODE=1 bash "$script" >>jobs/log 2>&1
done
echo "$number;cluster"
)script";

class SubmitTest : public CommandTest {
 protected:
  SubmitTest() {
    for (const char* folder : {"bin", "jobs"}) fs::create_directory(folder_ / folder);
    write_program("sbatch", sbatch);
    write_program("scontrol", "#!/bin/bash\nprintf 'MaxArraySize = 4\\nMaxJobCount = 10000\\n'\n");
    write_program("scancel", "#!/bin/bash\necho \"$@\" >jobs/cancelled\n");
  }

  void write_program(const std::string& name, const std::string& text) {
    write(folder_ / "bin" / name, text);
    fs::permissions(folder_ / "bin" / name, fs::perms::owner_all);
  }

  // A plan of 12 tiles, and its untiled map.
  void make_plan(const std::string& name = "plan.json") {
    const std::string common =
        "pair/left.png pair/right.png --disparities 16 --method census --threads 1 -o ";
    ASSERT_EQ(run("synth pair --size 256x360 --disparities 16 --no-truth").status, 0);
    ASSERT_EQ(run("match " + common + "untiled.tiff").status, 0);
    const Outcome planned = run("plan " + common + "map.tiff --tile-size 256x100 --plan \"" + name + '"');
    ASSERT_EQ(planned.status, 0) << planned.err;
  }

  Outcome submit(const std::string& arguments, const std::string& environment = "") const {
    return run("submit " + arguments, environment + " PATH=\"$PWD/bin:$PATH\"");
  }

  void expect_merged() const {
    EXPECT_FALSE(contents(folder_ / "map.tiff").empty());
    EXPECT_EQ(contents(folder_ / "map.tiff"), contents(folder_ / "untiled.tiff"));
  }

  std::string job(const std::string& number) const { return contents(folder_ / "jobs" / number); }
};

// As docs/howto/cluster.md says for machines without a scheduler.
TEST_F(SubmitTest, ProcessesOfAShellMakeTheBytesOfTheUntiledMap) {
  make_plan();
  ASSERT_EQ(run("match --plan plan.json --tile 3-5").status, 0);
  const std::string match =
      "'" + std::string(PARALLAX_COMMAND) + "' match --plan plan.json --threads 1 --tile ";
  const std::string shell = "cd '" + folder_.string() + "' && seq 0 11 | xargs -P 2 -n 5 sh -c \"" + match +
                            "\\$(echo \\$* | tr ' ' ,)\" tiles >shell.txt 2>&1";
  EXPECT_EQ(std::system(shell.c_str()), 0) << contents(folder_ / "shell.txt");
  EXPECT_EQ(run("status plan.json").status, 0);
  EXPECT_EQ(run("merge plan.json").status, 0);
  expect_merged();
}

TEST_F(SubmitTest, AJobIsAnArrayAndAMerge) {
  make_plan();
  const Outcome outcome =
      submit("--slurm plan.json --chunk 5 --sbatch partition=gpu --sbatch=--comment='a b'");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("job 1 matches 12 tiles in chunks of 5\njob 2 merges"), std::string::npos)
      << outcome.out;
  expect_merged();
  const std::string jobs = (folder_ / "plan.json.jobs").string(),
                    options = "--partition=gpu\n--comment=a b\n";
  EXPECT_EQ(job("1"), "--parsable\n--chdir\n" + jobs + "\n" + options + jobs + "/tiles.sh\n");
  EXPECT_EQ(job("2"),
            "--parsable\n--chdir\n" + jobs + "\n--dependency=afterany:1\n" + options + jobs + "/merge.sh\n");
  EXPECT_EQ(job("3"), "") << job("log");
}

TEST_F(SubmitTest, JobsHaveTheOptionsOfMatchAndWhereFilesAre) {
  make_plan();
  fs::create_directory(folder_ / "elsewhere");
  fs::rename(folder_ / "pair", folder_ / "elsewhere" / "pair");
  const std::string map = "--path-map '" + (folder_ / "pair").string() + "=elsewhere/pair'";
  EXPECT_EQ(submit("--slurm plan.json --chunk 12 --threads 2 --device cpu " + map).status, 0);
  expect_merged();
  EXPECT_TRUE(contains(contents(folder_ / "plan.json.jobs" / "tiles.sh"), "--device cpu --threads 2 --plan"));
}

// Missing tiles that are scattered have no short ranges.
TEST(SubmitChunksTest, AnyChunkFitsOnACommandLine) {
  std::vector<int> tiles;
  for (int tile = 0; tile < 100'000; tile += 2) tiles.push_back(tile);
  std::vector<int> there;
  for (const std::string& chunk : tool::cut_into_chunks(tiles, 1'000'000)) {
    EXPECT_LT(chunk.size(), 128u * 1024);
    for (const int tile : tool::parse_ranges(chunk, 100'000)) there.push_back(tile);
  }
  EXPECT_EQ(there, tiles);
  EXPECT_EQ(tool::cut_into_chunks({0, 1, 2, 4}, 3), (std::vector<std::string>{"0-2", "4"}));
}

TEST_F(SubmitTest, AnArrayIsNoLargerThanAllowed) {
  make_plan();
  const Outcome outcome = submit("--slurm plan.json --chunk 1");
  EXPECT_NE(outcome.out.find("12 tiles in chunks of 3"), std::string::npos) << outcome.out << outcome.err;
  expect_merged();
}

TEST_F(SubmitTest, ATaskThatIsLostIsSubmittedAgain) {
  make_plan();
  submit("--slurm plan.json --chunk 3", "LOST=1_2");
  expect_merged();
  EXPECT_NE(job("log").find("job 3 matches 3 tiles"), std::string::npos) << job("log");
}

TEST_F(SubmitTest, RetriesEnd) {
  make_plan();
  submit("--slurm plan.json --chunk 3 --retries 0", "LOST=1_2");
  EXPECT_EQ(job("3"), "");
  EXPECT_NE(job("log").find("missing"), std::string::npos) << job("log");
  submit("--slurm plan.json");
  expect_merged();
}

TEST_F(SubmitTest, WhatWouldFailAgainIsNotSubmittedAgain) {
  make_plan();
  write(folder_ / "pair" / "left.png", "damaged");
  submit("--slurm plan.json --chunk 3");
  EXPECT_NE(job("2"), "");
  EXPECT_EQ(job("3"), "");
  EXPECT_NE(job("log").find("would fail again"), std::string::npos) << job("log");
}

TEST_F(SubmitTest, WhenTheMergeIsRefusedNothingIsLeft) {
  make_plan();
  const Outcome outcome = submit("--slurm plan.json --chunk 3", "REFUSED=2");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_EQ(outcome.err,
            "parallax: sbatch refused: invalid partition specified: x; Batch job submission failed: No "
            "partition\n");
  EXPECT_EQ(job("cancelled"), "1\n");
}

TEST_F(SubmitTest, DryRunPrintsWhatWouldBeSubmitted) {
  const std::string name = "pl'an  $HOME.json";
  make_plan("pl'an  \\$HOME.json");
  const std::string plan = "\"pl'an  \\$HOME.json\"";
  const Outcome outcome = submit("--slurm --dry-run --chunk 6 --retries 0 " + plan);
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_FALSE(fs::exists(folder_ / (name + ".jobs")));
  EXPECT_EQ(job("last"), "");
  // The printed scripts do the work.
  write(folder_ / "printed", outcome.out);
  const std::string cut =
      "sed -n '/tiles.sh$/,/^$/p' printed >1.sh; sed -n '/merge.sh$/,/^$/p' printed >2.sh;"
      "for i in 0 1; do SLURM_ARRAY_TASK_ID=$i bash 1.sh; done; bash 2.sh";
  std::system(("cd '" + folder_.string() + "' && (" + cut + ") >ran 2>&1").c_str());
  expect_merged();
  EXPECT_NE(outcome.out.find("sbatch --parsable --chdir"), std::string::npos);
}

TEST_F(SubmitTest, WhatDoesNotFitIsRefused) {
  make_plan();
  for (const char* words : {"submit plan.json", "submit --local 2 plan.json"})
    expect_refusal(words, 2, {"without a scheduler", "parallax match --plan PLAN --tile", "parallax merge"});
  expect_refusal("submit --slurm --sbatch array=0-3 plan.json", 2, {"--array"});
  expect_refusal("submit --slurm --sbatch=-a0-3 plan.json", 2, {"-a itself"});
  expect_refusal("submit --slurm --chunk 0 plan.json", 2, {"--chunk"});
  expect_refusal("submit --slurm --dry-run plan.json", 2, {"--chunk N", "match --plan"});
  expect_refusal("submit --slurm nothing.json", 1, {"nothing.json"});
  expect_refusal("submit --slurm --chunk 3 plan.json", 1, {"sbatch is not installed"}, "PATH=\"$PWD/pair\"");
  write(folder_ / "a%b.json", contents(folder_ / "plan.json"));
  expect_refusal("submit --slurm --chunk 3 a%b.json", 2, {"a%b.json", "rename"});
}

}  // namespace
}  // namespace parallax::test
