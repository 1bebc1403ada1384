// SPDX-License-Identifier: Apache-2.0
#include "refine/refit_vectors.h"

#include <cmath>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "conformance/random_case.h"
#include "devices/devices.h"
#include "refine/maps.h"
#include "support.h"

namespace parallax {
namespace {

using namespace test;

struct Vectors {
  Plane<float> disparity, row_offset;
  Plane<std::uint8_t> status;

  explicit Vectors(Size size, float d = 0, float v = 0)
      : disparity(size, d), row_offset(size, v), status(size) {}
  DisparityMap view() { return {disparity.view(), status.view(), {}, row_offset.view()}; }
};

enum class Version { reference, vectors };

void refit(Vectors& vectors, const StereoPair& pair, int window, Version version, int threads = 1) {
  const Size size = vectors.disparity.size();
  Arena arena;
  refine::Shifts(size, arena);
  arena.allocate();
  const refine::Shifts shifts(size, arena);
  if (version == Version::reference)
    refine::refit_vectors_reference(vectors.view(), pair, window, shifts);
  else
    refine::refit_vectors(vectors.view(), pair, window, shifts, Workers(threads));
}

// A smooth texture; the second frame shows it moved by (u, v), and brighter.
struct Texture {
  Plane<std::uint8_t> first, second;

  Texture(Size size, float u, float v, int brighter) : first(size), second(size) {
    for (int y = 0; y < size.height; ++y)
      for (int x = 0; x < size.width; ++x) {
        first.at(x, y) = level(static_cast<float>(x), static_cast<float>(y), 0);
        second.at(x, y) = level(static_cast<float>(x) - u, static_cast<float>(y) - v, brighter);
      }
  }
  StereoPair pair() const { return {first.view(), second.view()}; }

  static std::uint8_t level(float x, float y, int brighter) {
    float sum = 0;
    for (int wave = 1; wave <= 6; ++wave) {
      const auto i = static_cast<float>(wave);
      sum += std::sin(x * (0.2f + 0.1f * i) + y * (0.9f - 0.25f * i) + 2 * i * i);
    }
    return static_cast<std::uint8_t>(std::lround(110 + 17 * sum) + brighter);
  }
};

TEST(RefitVectorsTest, FindsTheFractionsOfAMovedTextureOfOtherBrightness) {
  const Size size{90, 70};
  for (const int window : {7, 11})
    for (const auto& [u, v] : {std::pair{5.3f, -2.4f}, {-7.6f, 3.25f}, {0.45f, 0.0f}, {-4.0f, -6.0f}}) {
      const Texture texture(size, u, v, 20);
      Vectors vectors(size, -std::round(u), std::round(v));
      refit(vectors, texture.pair(), window, Version::vectors);
      for (int y = 15; y < size.height - 15; ++y)
        for (int x = 15; x < size.width - 15; ++x) {
          ASSERT_NEAR(vectors.disparity.at(x, y), -u, 0.12f) << window << ": " << x << ", " << y;
          ASSERT_NEAR(vectors.row_offset.at(x, y), v, 0.12f) << window << ": " << x << ", " << y;
        }
    }
}

TEST(RefitVectorsTest, VectorsStayWhereThereIsNoTexture) {
  const Size size{40, 30};
  const Plane<std::uint8_t> flat(size, std::uint8_t{90});
  Vectors vectors(size, 3.25f, -1.5f);
  refit(vectors, {flat.view(), flat.view()}, 7, Version::vectors);
  for (int y = 0; y < size.height; ++y)
    for (int x = 0; x < size.width; ++x) {
      ASSERT_EQ(vectors.disparity.at(x, y), 3.25f);
      ASSERT_EQ(vectors.row_offset.at(x, y), -1.5f);
    }
}

// Two halves of a texture that move apart: neither takes pixels of the other.
TEST(RefitVectorsTest, PixelsOfAnotherMotionDoNotCount) {
  const Size size{80, 40};
  const Texture left(size, 4.3f, 0.2f, 0), right(size, -5.3f, 0.2f, 0);
  Plane<std::uint8_t> second(size);
  Vectors vectors(size);
  for (int y = 0; y < size.height; ++y)
    for (int x = 0; x < size.width; ++x) {
      const bool is_left = x < size.width / 2;
      vectors.disparity.at(x, y) = is_left ? -4.0f : 5.0f;
      second.at(x, y) = x < size.width / 2 + 4 ? left.second.at(x, y) : right.second.at(x, y);
    }
  refit(vectors, {left.first.view(), second.view()}, 7, Version::vectors);
  for (int y = 10; y < 30; ++y) EXPECT_NEAR(vectors.disparity.at(size.width / 2 - 1, y), -4.3f, 0.25f);
}

TEST(RefitVectorsTest, EqualsTheReferenceOnEveryTarget) {
  unsigned seed = 0;
  for (const Size size : {Size{1, 1}, Size{1, 17}, Size{31, 3}, Size{67, 41}, Size{300, 5}, Size{2, 5}})
    for (const int window : {3, 5, 7, 15})
      for (const auto depth : {BitDepth::bits8, BitDepth::bits16}) {
        std::mt19937 random(++seed);
        const RandomPair images(random, {size, depth}, 1 + 2 * static_cast<int>(seed % 2), 3);
        const auto below = [&](unsigned end) { return static_cast<int>(random() % end); };
        Vectors given(size);
        for (int y = 0; y < size.height; ++y)
          for (int x = 0; x < size.width; ++x) {
            given.disparity.at(x, y) = 3 + static_cast<float>(x / 9 % 3 + below(256)) / 256;
            given.row_offset.at(x, y) =
                static_cast<float>(y / 7 % 3 - 1) + static_cast<float>(below(256)) / 512;
            if (below(9) == 0) given.row_offset.at(x, y) = static_cast<float>(below(80) - 40) / 4;
            if (below(9) == 0) given.disparity.at(x, y) = given.row_offset.at(x, y) = none;
          }
        const auto copy = [&] {
          Vectors vectors(size);
          for (int y = 0; y < size.height; ++y) {
            std::copy_n(given.disparity.row(y), size.width, vectors.disparity.row(y));
            std::copy_n(given.row_offset.row(y), size.width, vectors.row_offset.row(y));
          }
          return vectors;
        };
        Vectors expected = copy();
        refit(expected, images.pair(), window, Version::reference);
        for (const std::string& target : cpu_targets()) {
          force_cpu_target(target);
          for (const int threads : {1, 3}) {
            Vectors vectors = copy();
            refit(vectors, images.pair(), window, Version::vectors, threads);
            EXPECT_TRUE(same_bytes(vectors.disparity, expected.disparity)) << target << ", " << seed;
            EXPECT_TRUE(same_bytes(vectors.row_offset, expected.row_offset)) << target << ", " << seed;
          }
        }
        force_cpu_target("");
      }
}

}  // namespace
}  // namespace parallax
