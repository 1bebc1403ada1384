// SPDX-License-Identifier: Apache-2.0
// MPO: CIPA DC-007, Multi-Picture Format. JPS: the JPEG Stereo Standard, whose descriptor is in a segment APP3.
#include "tools/files/layout.h"

#include <array>
#include <fstream>

#include "parallax/formats.h"

namespace parallax::tool {
namespace {

constexpr const char* names[] = {"side-by-side", "right-left", "top-bottom", "bottom-top"};

// Numbers of a file in memory; 0 beyond its end.
class Numbers {
 public:
  Numbers(Bytes bytes, bool big_endian) : bytes_(bytes), big_endian_(big_endian) {}

  std::uint32_t number(std::size_t at, std::size_t size) const {
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < size; ++i)
      value = value << 8 | byte(big_endian_ ? at + i : at + size - 1 - i);
    return value;
  }

 private:
  std::uint32_t byte(std::size_t at) const {
    return at < bytes_.size() ? std::to_integer<std::uint32_t>(bytes_[at]) : 0;
  }

  Bytes bytes_;
  bool big_endian_;
};

// A segment of a JPEG: the bytes after its length, and where they begin.
struct Segment {
  unsigned marker = 0;
  std::size_t begin = 0;
  Bytes data;
};

// The segments before the pixels.
std::vector<Segment> segments_of(Bytes jpeg) {
  constexpr unsigned start_of_scan = 0xDA, first_marker = 0xC0;
  std::vector<Segment> segments;
  const Numbers numbers(jpeg, true);
  for (std::size_t at = 2; at + 4 <= jpeg.size();) {
    const unsigned marker = numbers.number(at, 2), length = numbers.number(at + 2, 2);
    if (marker >> 8 != 0xFF || (marker & 0xFF) < first_marker || (marker & 0xFF) == start_of_scan ||
        length < 2 || at + 2 + length > jpeg.size())
      break;
    segments.push_back({marker & 0xFF, at + 4, jpeg.subspan(at + 4, length - 2)});
    at += 2 + length;
  }
  return segments;
}

// The pictures of a Multi-Picture Format; fewer than two for another file. Offsets count from the index, whose
// first picture is at the beginning of the file.
std::vector<Bytes> pictures_of(Bytes file, const Segment& segment) {
  constexpr std::uint32_t entries_tag = 0xB002, entry_bytes = 16, field_bytes = 12;
  const Bytes index = segment.data.subspan(4);
  const Numbers numbers(index, begins_with(index, "MM"));
  const std::size_t directory = numbers.number(4, 4);
  std::vector<Bytes> pictures;
  for (std::uint32_t i = 0; i < numbers.number(directory, 2); ++i) {
    const std::size_t field = directory + 2 + i * field_bytes;
    if (field >= index.size()) break;
    if (numbers.number(field, 2) != entries_tag) continue;
    const std::uint32_t count = numbers.number(field + 4, 4) / entry_bytes;
    const std::size_t first = numbers.number(field + 8, 4);
    for (std::uint32_t entry = 0; entry < std::min(count, 8u); ++entry) {
      const std::size_t at = first + entry * entry_bytes;
      const std::size_t length = numbers.number(at + 4, 4), offset = numbers.number(at + 8, 4);
      const std::size_t begin = entry == 0 ? 0 : segment.begin + 4 + offset;
      if (begin >= file.size() || length > file.size() - begin) return {};
      pictures.push_back(file.subspan(begin, length));
    }
  }
  return pictures;
}

// Where a JPS has its views. Without a descriptor, or one that says nothing, they are for crossed eyes.
std::optional<Layout> layout_of(const Segment& segment) {
  constexpr std::size_t descriptor = 10;  // after "_JPSJPS_" and a length
  constexpr unsigned stereoscopic = 1, side_by_side = 2, over_under = 3, left_first = 4;
  const Numbers numbers(segment.data, true);
  const unsigned misc = numbers.number(descriptor + 1, 1), layout = numbers.number(descriptor + 2, 1),
                 media = numbers.number(descriptor + 3, 1);
  if (media != stereoscopic) return std::nullopt;
  const bool left = (misc & left_first) != 0;
  if (layout == side_by_side) return left ? Layout::side_by_side : Layout::right_left;
  if (layout == over_under) return left ? Layout::top_bottom : Layout::bottom_top;
  return std::nullopt;
}

bool is_jpeg_file(const std::string& path) {
  std::array<char, 3> head{};
  std::ifstream file(path, std::ios::binary);
  file.read(head.data(), head.size());
  return head == std::array<char, 3>{'\xFF', '\xD8', '\xFF'};
}

}  // namespace

const char* name(Layout layout) {
  return names[static_cast<int>(layout)];
}

PicturePair split(const Picture& both, Layout layout, const std::string& path) {
  const auto [width, height] = both.size();
  const bool beside = layout == Layout::side_by_side || layout == Layout::right_left;
  if ((beside ? width : height) % 2 != 0)
    fail_picture(path,
                 "is " + std::to_string(beside ? width : height) + " pixels " + (beside ? "wide" : "high") +
                     ": two pictures " +
                     (beside ? "side by side have an even width" : "above each other have an even height"));
  const Size half = beside ? Size{width / 2, height} : Size{width, height / 2};
  const Picture first = both.part({0, 0, half}),
                second = both.part({beside ? half.width : 0, beside ? 0 : half.height, half});
  const bool left_first = layout == Layout::side_by_side || layout == Layout::top_bottom;
  return left_first ? PicturePair{first, second} : PicturePair{second, first};
}

StatedViews stated_views(const std::string& path, const PictureOptions& options) {
  if (!is_jpeg_file(path)) return {};
  constexpr unsigned app2 = 0xE2, app3 = 0xE3;
  using namespace std::string_view_literals;
  const std::vector<std::byte> file = read_file(path);
  StatedViews views;
  if (has_extension(path, {".jps"})) views.layout = Layout::right_left;
  for (const Segment& segment : segments_of(file)) {
    if (segment.marker == app3 && begins_with(segment.data, "_JPSJPS_") && segment.data.size() >= 14) {
      views.layout = layout_of(segment).value_or(Layout::right_left);
    } else if (segment.marker == app2 && begins_with(segment.data, "MPF\0"sv) && segment.data.size() > 12) {
      const std::vector<Bytes> pictures = pictures_of(file, segment);
      // An MPO of one view has previews of other sizes.
      if (pictures.size() < 2) continue;
      const PicturePair pair{picture_in(pictures[0], path, options), picture_in(pictures[1], path, options)};
      if (pair.left.size() == pair.right.size()) views.pair = pair;
    }
  }
  return views;
}

PicturePair read_both(const std::string& path, std::optional<Layout> layout, const PictureOptions& options) {
  if (!layout) {
    const StatedViews stated = stated_views(path, options);
    if (stated.pair) return *stated.pair;
    if (!stated.layout)
      fail_picture(path, "does not say where it holds both views: give RIGHT, or say it with --layout");
    layout = stated.layout;
  }
  return split(read_picture(path, options), *layout, path);
}

}  // namespace parallax::tool
