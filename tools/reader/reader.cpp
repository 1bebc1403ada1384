// SPDX-License-Identifier: Apache-2.0
// The C interface of libparallax_pictures, which only this project's Python package uses.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

#include "parallax/formats.h"

#include "tools/command/command.h"
#include "tools/files/pictures.h"

namespace parallax::tool {
namespace {

// Types of values, as in parallax_c.h; −16 is signed integers of 16 bits.
enum Type : std::int32_t { signed16 = -16, unsigned8 = 8, unsigned16 = 16, float32 = 32 };

thread_local std::string message;

// Memory that the caller frees.
template <class Value>
Value* allocate(std::size_t count) {
  void* memory = std::malloc(count * sizeof(Value));
  if (memory == nullptr) throw std::bad_alloc();
  return static_cast<Value*>(memory);
}

}  // namespace
}  // namespace parallax::tool

using namespace parallax;
using namespace parallax::tool;

extern "C" {

struct ReadPicture {
  void* pixels;        // rows without gaps, channels interleaved
  std::uint8_t* mask;  // 0 = not valid; null = all are valid
  std::int32_t width, height, channels, type;
};

// Reads a picture with the values of its file, or a map of floats. Returns 0, or 1 with an error.
__attribute__((visibility("default"))) int parallax_pictures_read(const char* path, int ignore_orientation,
                                                                  ReadPicture* read) {
  try {
    *read = {};
    if (const std::optional<Plane<float>> floats = read_float_map(path)) {
      auto* to = allocate<float>(floats->size().pixels());
      read->pixels = to;
      for (int y = 0; y < floats->height(); ++y, to += floats->width())
        std::copy_n(floats->row(y), floats->width(), to);
      read->width = floats->width();
      read->height = floats->height();
      read->channels = 1;
      read->type = float32;
      return 0;
    }
    PictureOptions options;
    options.ignore_orientation = ignore_orientation != 0;
    const Picture picture = read_picture(path, options);
    const auto [width, height] = picture.size();
    const std::size_t row = static_cast<std::size_t>(width) * picture.pixel_bytes();
    auto* to = allocate<std::byte>(row * static_cast<std::size_t>(height));
    read->pixels = to;
    for (int y = 0; y < height; ++y, to += row) std::memcpy(to, picture.row(y), row);
    read->width = width;
    read->height = height;
    read->channels = picture.channels();
    read->type = picture.view().format.depth == BitDepth::bits8 ? unsigned8 : unsigned16;
    if (picture.notes.offset != 0) {
      read->type = signed16;
      auto* values = static_cast<std::uint16_t*>(read->pixels);
      for (std::size_t i = 0; i < row * static_cast<std::size_t>(height) / 2; ++i)
        values[i] = static_cast<std::uint16_t>(values[i] - picture.notes.offset);
    }
    if (picture.mask().empty()) return 0;
    read->mask = allocate<std::uint8_t>(picture.size().pixels());
    for (int y = 0; y < height; ++y)
      std::copy_n(picture.mask().row(y), width,
                  read->mask + static_cast<std::size_t>(y) * static_cast<std::size_t>(width));
    return 0;
  } catch (const std::bad_alloc&) {
    message = std::string(path) + " does not fit in the memory: give a smaller picture";
  } catch (const std::exception& error) {
    message = printable(error.what());
  }
  std::free(read->pixels);
  std::free(read->mask);
  *read = {};
  return 1;
}

// The error of this thread's last call.
__attribute__((visibility("default"))) const char* parallax_pictures_error() {
  return message.c_str();
}

__attribute__((visibility("default"))) void parallax_pictures_free(void* memory) {
  std::free(memory);
}

}  // extern "C"
