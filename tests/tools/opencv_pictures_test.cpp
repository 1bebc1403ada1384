// SPDX-License-Identifier: Apache-2.0
// Every kind of picture has the gray values that OpenCV reads. Built where OpenCV is installed.

#include <set>

#include "support.h"
#include "tools/command_fixture.h"
#include "tools/files/pictures/codecs.h"
#include "tools/opencv_decoder.h"
#include "tools/picture_files.h"

namespace parallax::test {
namespace {

class OpenCvPicturesTest : public CommandTest {
 protected:
  void expect_same(const std::string& what, const std::string& path) const {
    const std::vector<std::byte> bytes = read_file(path);
    const auto expected = gray_by_opencv(bytes);
    ASSERT_TRUE(expected) << what;
    EXPECT_EQ(count_differences(gray_of(tool::read_picture(path)), *expected), 0u) << what;
  }
  void expect_same(const std::string& what, const std::vector<std::byte>& bytes) const {
    const std::string path = (folder_ / "picture").string();
    write_file(path, bytes);
    expect_same(what, path);
  }
};

std::vector<std::uint8_t> any_bytes(std::size_t count) {
  std::vector<std::uint8_t> bytes(count);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::uint8_t>((i + 1) * 2654435761u >> 11);
  return bytes;
}

TEST_F(OpenCvPicturesTest, Pngs) {
  struct Kind {
    int colour_type, samples;
    std::vector<int> depths;
  };
  for (const Kind& kind : {Kind{0, 1, {1, 2, 4, 8, 16}},
                           {2, 3, {8, 16}},
                           {3, 1, {1, 2, 4, 8}},
                           {4, 2, {8, 16}},
                           {6, 4, {8, 16}}}) {
    for (const int bits : kind.depths) {
      for (const bool is_interlaced : {false, true}) {
        const Size size{37, 23};
        const std::size_t row = (static_cast<std::size_t>(size.width * kind.samples * bits) + 7) / 8;
        PngSettings settings{.colour_type = kind.colour_type, .bits = bits, .is_interlaced = is_interlaced};
        if (kind.colour_type == 3) settings.palette = any_bytes(3u << bits);
        expect_same("PNG " + std::to_string(kind.colour_type) + " " + std::to_string(bits),
                    encode_any_png(size, settings, any_bytes(row * 23)));
      }
    }
  }
}

TEST_F(OpenCvPicturesTest, Jpegs) {
  for (const Size size : {Size{1, 1}, Size{37, 23}, Size{200, 150}}) {
    for (const int channels : {1, 3})
      for (const bool is_progressive : {false, true})
        expect_same("JPEG",
                    encode_jpeg(noise(size, channels, BitDepth::bits8), {.is_progressive = is_progressive}));
    expect_same("CMYK", encode_cmyk_jpeg(size, any_bytes(4 * size.pixels())));
  }
}

TEST_F(OpenCvPicturesTest, NetpbmAndWebp) {
  for (const int channels : {1, 3})
    for (const BitDepth depth : {BitDepth::bits8, BitDepth::bits16})
      expect_same("Netpbm", encode_netpbm(noise({37, 23}, channels, depth)));
  expect_same("WebP", encode_webp(noise({37, 23}, 3, BitDepth::bits8)));
  for (const std::string text :
       {"P1 3 2 1 0 1 0 1 1\n", "P2\n#\n3 1\n255\n0 7 255\n", "P3 1 2 255 1 2 3 4 5 6\n"})
    expect_same(text, bytes_of(text));
}

TEST_F(OpenCvPicturesTest, Tiffs) {
  const std::string path = (folder_ / "a.tiff").string();
  const Size size{37, 23};
  for (const int packing : {1, 5, 8, 32773}) {
    for (const int bits : {8, 16}) {
      for (const int samples : {1, 3, 4}) {
        if (bits == 8 && samples == 4) continue;  // OpenCV darkens transparent pixels
        const auto pixels = any_bytes(size.pixels() * static_cast<std::size_t>(samples * bits / 8));
        write_any_tiff(
            path, size,
            {.samples = samples, .bits = bits, .photometric = samples == 1 ? 1 : 2, .packing = packing},
            pixels);
        expect_same("TIFF " + std::to_string(bits) + " " + std::to_string(samples), path);
      }
    }
    write_any_tiff(path, size, {.bits = 1, .photometric = 0, .packing = packing}, any_bytes(5 * 23));
    expect_same("TIFF of bits", path);
  }
}

// Pictures written by other programs: one of each format in a folder.
TEST_F(OpenCvPicturesTest, RealPictures) {
  const fs::path folder = data_folder();
  if (!fs::is_directory(folder)) GTEST_SKIP() << "no " << folder << ": set PARALLAX_DATA";
  std::set<fs::path> compared;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const fs::path& path = entry.path();
    if (tool::is_picture_name(path) && compared.insert(path.parent_path() / path.extension()).second)
      expect_same(path.string(), path.string());
  }
  EXPECT_FALSE(compared.empty());
}

}  // namespace
}  // namespace parallax::test
