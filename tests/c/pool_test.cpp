// SPDX-License-Identifier: Apache-2.0
#include <set>
#include <thread>

#include "parallax/parallax_c.h"

#include "support.h"

namespace parallax::test {
namespace {

void expect_ok(parallax_code code) {
  EXPECT_EQ(code, PARALLAX_OK) << parallax_error_message();
}

void expect_refused(parallax_code code, std::string_view part,
                    parallax_code expected = PARALLAX_ERROR_ARGUMENT) {
  EXPECT_EQ(code, expected) << part;
  EXPECT_TRUE(contains(parallax_error_message(), part)) << parallax_error_message() << "\nlacks " << part;
}

// A pair with its map, in a C caller's structs.
struct CJob {
  explicit CJob(int seed, Size size = {48, 32})
      : pair(synthesize({.size = size, .disparities = 8, .seed = static_cast<std::uint64_t>(seed)})),
        result(size) {
    for (const auto& [plane, image] : {std::pair{&pair.left, &left}, {&pair.right, &right}})
      *image = {sizeof(parallax_image),     plane->row(0),  size.width, size.height,
                plane->view().stride_bytes, PARALLAX_UINT8, 3};
    disparity = {sizeof(parallax_output),
                 result.disparity.row(0),
                 size.width,
                 size.height,
                 result.disparity.view().stride_bytes,
                 PARALLAX_FLOAT32,
                 1};
    status = {sizeof(parallax_output),           result.status.row(0), size.width, size.height,
              result.status.view().stride_bytes, PARALLAX_UINT8,       1};
  }
  parallax_code submit(parallax_pool* pool, parallax_matcher* matcher = nullptr) {
    // They need not outlive the call.
    const parallax_pair images{sizeof(parallax_pair), &left, &right, nullptr, nullptr, nullptr};
    const parallax_map map{sizeof(parallax_map), &disparity, &status, nullptr, nullptr, nullptr};
    return parallax_pool_submit(pool, &images, &map, matcher, &number);
  }

  SynthPair pair;
  Result result;
  parallax_image left, right;
  parallax_output disparity, status;
  std::uint64_t number = 99;
};

class CPoolTest : public testing::Test {
 protected:
  CPoolTest() {
    expect_ok(parallax_matcher_create("census", nullptr, &matcher_));
    expect_ok(parallax_matcher_set_int(matcher_, "disparities", 8));
    expect_ok(parallax_matcher_set_device(matcher_, "cpu", 1));
  }
  ~CPoolTest() override {
    parallax_pool_release(pool_);
    parallax_matcher_release(matcher_);
  }
  void create(const char* devices = "cpu,reference") {
    expect_ok(parallax_pool_create(matcher_, devices, nullptr, &pool_));
  }
  MatcherParameters parameters() const {
    const char* json = nullptr;
    expect_ok(parallax_matcher_get_json(matcher_, &json));
    return parameters_from_json(json);
  }
  void expect_right(const CJob& job) const {
    expect_same(match(parameters(), reference, views(job.pair)), job.result, std::to_string(job.number));
  }

  parallax_matcher* matcher_ = nullptr;
  parallax_pool* pool_ = nullptr;
};

TEST_F(CPoolTest, MatchesManyPairs) {
  create();
  std::vector<CJob> jobs;
  for (int i = 0; i < 20; ++i) jobs.emplace_back(i, Size{48 + i % 2, 32});
  for (CJob& job : jobs) expect_ok(job.submit(pool_));
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    EXPECT_EQ(jobs[i].number, i);
    parallax_matched matched = PARALLAX_MATCHED_INIT;
    expect_ok(parallax_pool_wait(pool_, i, &matched));
    EXPECT_EQ(matched.number, i);
    EXPECT_TRUE(contains("cpu reference", matched.device)) << matched.device;
    EXPECT_GT(matched.stage_count, 0u);
    EXPECT_NE(std::string(matched.stages[0].name), "");
    expect_right(jobs[i]);
  }
  expect_refused(parallax_pool_wait(pool_, 3, nullptr), "pair 3 is not waited for");
}

TEST_F(CPoolTest, WaitsForAnyPair) {
  create("cpu");
  CJob a(1), b(2);
  expect_ok(a.submit(pool_));
  expect_ok(b.submit(pool_));
  std::set<std::uint64_t> numbers;
  std::int32_t found = 0;
  std::uint64_t number = 0;
  for (int i = 0; i < 2; ++i) {
    expect_ok(parallax_pool_wait_any(pool_, &found, &number, nullptr));
    EXPECT_EQ(found, 1);
    numbers.insert(number);
  }
  EXPECT_EQ(numbers, (std::set<std::uint64_t>{0, 1}));
  expect_ok(parallax_pool_wait_any(pool_, &found, &number, nullptr));
  EXPECT_EQ(found, 0);
  expect_right(a);
  expect_right(b);
}

TEST_F(CPoolTest, AnErrorHasItsPair) {
  expect_ok(parallax_matcher_set_memory_limit(matcher_, 200000));
  create();
  CJob small(1), large(2, {400, 300});
  expect_ok(small.submit(pool_));
  expect_ok(large.submit(pool_));
  expect_ok(parallax_pool_wait(pool_, 0, nullptr));
  std::int32_t found = 0;
  std::uint64_t number = 0;
  parallax_matched matched = PARALLAX_MATCHED_INIT;
  expect_refused(parallax_pool_wait_any(pool_, &found, &number, &matched), "pair 1: the match needs",
                 PARALLAX_ERROR_MEMORY);
  EXPECT_EQ(found, 1);
  EXPECT_EQ(number, 1u);
  EXPECT_EQ(matched.device, nullptr);
  const parallax_lost_device* lost = nullptr;
  std::size_t count = 7;
  expect_ok(parallax_pool_lost_devices(pool_, &lost, &count));
  EXPECT_EQ(count, 0u);
}

TEST_F(CPoolTest, APairMayHaveParametersOfItsOwn) {
  create();
  CJob usual(1), own(1);
  expect_ok(usual.submit(pool_));
  expect_ok(parallax_matcher_set_int(matcher_, "min_disparity", 3));
  expect_ok(own.submit(pool_, matcher_));
  expect_ok(parallax_pool_wait(pool_, usual.number, nullptr));
  expect_ok(parallax_pool_wait(pool_, own.number, nullptr));
  expect_right(own);
  EXPECT_FALSE(same_bytes(usual.result, own.result));
}

TEST_F(CPoolTest, TellsHowManyPairsAreMatchedAtOnce) {
  create();
  std::int32_t matchers = 0;
  expect_ok(parallax_pool_matchers(pool_, 640, 480, PARALLAX_UINT8, &matchers));
  std::int32_t none = 7;
  EXPECT_EQ(parallax_pool_matchers(pool_, -1, -1, PARALLAX_UINT8, &none), PARALLAX_ERROR_ARGUMENT);
  EXPECT_EQ(none, 7);
  EXPECT_EQ(matchers, 2);
}

TEST_F(CPoolTest, IsKeptByReferences) {
  create();
  expect_ok(parallax_pool_retain(pool_));
  parallax_pool_release(pool_);
  CJob job(1);
  expect_ok(job.submit(pool_));
  expect_ok(parallax_pool_wait(pool_, 0, nullptr));
  parallax_pool_release(nullptr);
}

TEST_F(CPoolTest, WhatItCannotUseIsRefused) {
  expect_refused(parallax_pool_create(nullptr, nullptr, nullptr, &pool_), "matcher is NULL");
  expect_refused(parallax_pool_create(matcher_, nullptr, nullptr, nullptr), "pool is NULL");
  expect_refused(parallax_pool_create(matcher_, "cpu,gpu", nullptr, &pool_), "device is 'gpu'");
  parallax_pool_limits limits = PARALLAX_POOL_LIMITS_INIT;
  limits.waiting = -1;
  expect_refused(parallax_pool_create(matcher_, nullptr, &limits, &pool_), "waiting is -1");
  limits = {4, 0, 0};
  expect_refused(parallax_pool_create(matcher_, nullptr, &limits, &pool_), "pool limits struct_size is 4");
  create(nullptr);
  CJob job(1);
  expect_refused(job.submit(nullptr), "pool is NULL");
  job.right.width = 47;
  expect_refused(job.submit(pool_), "the right one 47×32");
  job.right.width = 48;
  expect_ok(job.submit(pool_));
  parallax_matched matched{};
  expect_refused(parallax_pool_wait(pool_, 0, &matched), "matched pair struct_size is 0");
  expect_ok(parallax_pool_wait(pool_, 0, nullptr));
  expect_refused(parallax_pool_wait_any(pool_, nullptr, nullptr, nullptr), "found is NULL");
}

}  // namespace
}  // namespace parallax::test
