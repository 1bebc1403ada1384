// SPDX-License-Identifier: Apache-2.0
// PNG, by libspng.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <new>
#include <string_view>
#include <utility>

#include <spng.h>

#include "tools/command/command_files.h"
#include "tools/files/pictures/codecs.h"

namespace parallax::tool {
namespace {

struct FreeContext {
  void operator()(spng_ctx* context) const { ::spng_ctx_free(context); }
};
using Context = std::unique_ptr<spng_ctx, FreeContext>;

Context make_context(int flags) {
  Context context(::spng_ctx_new(flags));
  if (!context) throw std::bad_alloc();
  return context;
}

void check(int result, const std::string& name) {
  if (result == SPNG_EMEM) throw std::bad_alloc();
  if (result != SPNG_OK) fail_damaged(name, ::spng_strerror(result));
}

// The bytes of a PNG, without chunks that decoding does not need: libspng keeps text and profiles in memory,
// and refuses files with much of them.
class Chunks {
 public:
  using Read = std::function<bool(void* to, std::size_t bytes)>;
  using Skip = std::function<void(std::size_t bytes)>;

  // `read` returns false if there are fewer bytes.
  Chunks(Read read, Skip skip) : read_(std::move(read)), skip_(std::move(skip)) {}

  void give_to(spng_ctx* context, const std::string& name) {
    check(::spng_set_png_stream(context, &Chunks::give, this), name);
  }

 private:
  static int give(spng_ctx*, void* self, void* to, std::size_t bytes) {
    return static_cast<Chunks*>(self)->take(static_cast<std::byte*>(to), bytes) ? SPNG_OK : SPNG_IO_EOF;
  }

  bool take(std::byte* to, std::size_t bytes) {
    while (bytes > 0) {
      if (held_ == 0 && rest_ == 0 && !find_next()) return false;
      const std::size_t count = std::min(bytes, held_ > 0 ? held_ : rest_);
      if (held_ > 0) {
        std::copy_n(head_.end() - static_cast<std::ptrdiff_t>(held_), count, to);
        held_ -= count;
      } else {
        if (!read_(to, count)) return false;
        rest_ -= count;
      }
      to += count;
      bytes -= count;
    }
    return true;
  }

  // Holds the length and the name of the next chunk that is needed.
  bool find_next() {
    for (;;) {
      if (!read_(head_.data(), head_.size())) return false;
      std::size_t length = 0;
      for (int i = 0; i < 4; ++i) length = length << 8 | std::to_integer<std::size_t>(head_[i]);
      const std::size_t sum_bytes = 4;
      rest_ = length + sum_bytes;
      held_ = head_.size();
      const std::string_view kind(reinterpret_cast<const char*>(head_.data()) + 4, 4);
      const bool is_critical = (kind[0] & 0x20) == 0;
      if (is_critical || kind == "tRNS" || kind == "sBIT" || kind == "eXIf") return true;
      skip_(rest_);
    }
  }

  Read read_;
  Skip skip_;
  std::array<std::byte, 8> head_{};
  std::size_t held_ = 0;  // at the end of the head: not taken yet
  std::size_t rest_ = 8;  // of the chunk, or of the signature
};

Chunks chunks_of(Bytes bytes) {
  const auto rest = std::make_shared<Bytes>(bytes);
  return {[rest](void* to, std::size_t count) {
            if (count > rest->size()) return false;
            std::copy_n(rest->data(), count, static_cast<std::byte*>(to));
            *rest = rest->subspan(count);
            return true;
          },
          [rest](std::size_t count) { *rest = rest->subspan(std::min(count, rest->size())); }};
}

Chunks chunks_of(std::FILE* file) {
  return {[file](void* to, std::size_t count) { return std::fread(to, 1, count, file) == count; },
          [file](std::size_t count) { std::fseek(file, static_cast<long>(count), SEEK_CUR); }};
}

// The chunks before the pixels.
struct Head {
  spng_ihdr header;
  int orientation = 1;
  bool has_transparent_colours = false;
  std::optional<ValueRange> range;  // that sBIT states

  Head(spng_ctx* context, const std::string& name) {
    // Like other readers, accepts damage outside the pixels.
    check(::spng_set_crc_action(context, SPNG_CRC_ERROR, SPNG_CRC_DISCARD), name);
    check(::spng_get_ihdr(context, &header), name);
    check_picture_size(header.width, header.height, name);
    spng_exif exif{};
    if (::spng_get_exif(context, &exif) == SPNG_OK)
      orientation = exif_orientation({reinterpret_cast<const std::byte*>(exif.data), exif.length});
    spng_trns transparent{};
    has_transparent_colours = ::spng_get_trns(context, &transparent) == SPNG_OK;
    spng_sbit significant{};
    if (header.bit_depth == 16 && ::spng_get_sbit(context, &significant) == SPNG_OK) {
      const int bits = is_gray()
                           ? significant.grayscale_bits
                           : std::max({significant.red_bits, significant.green_bits, significant.blue_bits});
      if (bits > 0 && bits < 16) range = {0, (1 << bits) - 1};
    }
  }

  bool has_palette() const { return header.color_type == SPNG_COLOR_TYPE_INDEXED; }
  // Bits of the colour type: 2 = colour, 4 = alpha.
  bool has_alpha() const { return (header.color_type & SPNG_COLOR_TYPE_GRAYSCALE_ALPHA) != 0; }
  bool is_gray() const { return (header.color_type & SPNG_COLOR_TYPE_TRUECOLOR) == 0; }
  ImageFormat format() const {
    return {{static_cast<int>(header.width), static_cast<int>(header.height)},
            header.bit_depth == 16 ? BitDepth::bits16 : BitDepth::bits8};
  }
  unsigned channels() const { return is_gray() ? 1 : 3; }
  // The pixel format that libspng returns.
  int decoded_format() const {
    if (has_palette()) return SPNG_FMT_RGB8;
    return header.bit_depth < 8 ? SPNG_FMT_G8 : SPNG_FMT_PNG;
  }
};

// Masks the pixels that a picture without an alpha channel calls transparent, a colour or entries of the palette.
void mask_transparent(Bytes rgba, Picture& picture) {
  Picture colours({picture.size(), picture.view().format.depth}, 3);
  take_alpha(rgba, colours);
  if (colours.mask().empty()) return;
  const View<std::uint8_t> mask = picture.add_mask();
  for (int y = 0; y < mask.size.height; ++y) std::copy_n(colours.mask().row(y), mask.size.width, mask.row(y));
}

}  // namespace

bool is_png(Bytes bytes) {
  return begins_with(bytes, "\x89PNG\r\n\x1A\n");
}

Picture decode_png(Bytes bytes, const std::string& name) {
  const Context context = make_context(0);
  Chunks chunks = chunks_of(bytes);
  chunks.give_to(context.get(), name);
  const Head head(context.get(), name);
  // Deflate compresses by a factor of at most 1032.
  const std::size_t samples = head.format().size.pixels() * (head.has_palette() ? 1 : head.channels());
  if (samples / 8 * head.header.bit_depth / 1032 > bytes.size()) fail_damaged(name, "it is cut short");
  Picture picture(head.format(), static_cast<int>(head.channels()));
  picture.notes = {head.range, 0, head.orientation};
  if (head.has_alpha()) {
    const std::size_t pixel = picture.pixel_bytes() + picture.pixel_bytes() / head.channels();
    std::vector<std::byte> whole(picture.size().pixels() * pixel);
    check(::spng_decode_image(context.get(), whole.data(), whole.size(), head.decoded_format(), 0), name);
    take_alpha(whole, picture);
    return picture;
  }
  const std::size_t length = picture.size().pixels() * picture.pixel_bytes();
  check(::spng_decode_image(context.get(), picture.row(0), length, head.decoded_format(), 0), name);
  if (head.has_transparent_colours) {
    const bool is_deep = head.header.bit_depth == 16;
    std::vector<std::byte> whole(picture.size().pixels() * (is_deep ? 8 : 4));
    const Context again = make_context(0);
    Chunks same_chunks = chunks_of(bytes);
    same_chunks.give_to(again.get(), name);
    const Head same(again.get(), name);
    check(::spng_decode_image(again.get(), whole.data(), whole.size(),
                              is_deep ? SPNG_FMT_RGBA16 : SPNG_FMT_RGBA8, SPNG_DECODE_TRNS),
          name);
    mask_transparent(whole, picture);
  }
  return picture;
}

std::optional<PictureHead> read_png_head(const std::string& path, bool ignore_orientation) {
  const InputFile file = open_input_file(path);
  if (!file) return std::nullopt;
  std::byte signature[8];
  if (std::fread(signature, 1, sizeof signature, file.get()) != sizeof signature || !is_png(signature))
    return std::nullopt;
  std::rewind(file.get());
  const Context context = make_context(0);
  Chunks chunks = chunks_of(file.get());
  chunks.give_to(context.get(), path);
  const Head head(context.get(), path);
  PictureHead result{head.format(), static_cast<int>(head.channels())};
  if (!ignore_orientation && head.orientation >= 5 && head.orientation <= 8)
    std::swap(result.format.size.width, result.format.size.height);
  return result;
}

std::vector<std::byte> encode_png(const ImageView& pixels) {
  const Context context = make_context(SPNG_CTX_ENCODER);
  const auto set = [](int result) {
    if (result == SPNG_EMEM) throw std::bad_alloc();
    if (result != SPNG_OK)
      throw Error(ErrorCategory::internal, std::string("libspng cannot encode: ") + ::spng_strerror(result));
  };
  spng_ihdr header{};
  header.width = static_cast<std::uint32_t>(pixels.format.size.width);
  header.height = static_cast<std::uint32_t>(pixels.format.size.height);
  header.bit_depth = static_cast<std::uint8_t>(pixels.format.depth);
  header.color_type = pixels.channels == 1 ? SPNG_COLOR_TYPE_GRAYSCALE : SPNG_COLOR_TYPE_TRUECOLOR;
  constexpr int run_lengths = 3;  // zlib's Z_RLE: as small as its default on pictures, in a third of the time
  set(::spng_set_ihdr(context.get(), &header));
  set(::spng_set_option(context.get(), SPNG_ENCODE_TO_BUFFER, 1));
  set(::spng_set_option(context.get(), SPNG_IMG_COMPRESSION_LEVEL, 1));
  set(::spng_set_option(context.get(), SPNG_IMG_COMPRESSION_STRATEGY, run_lengths));
  set(::spng_set_option(context.get(), SPNG_FILTER_CHOICE, SPNG_FILTER_CHOICE_SUB));
  set(::spng_encode_image(context.get(), nullptr, 0, SPNG_FMT_PNG,
                          SPNG_ENCODE_PROGRESSIVE | SPNG_ENCODE_FINALIZE));
  const std::size_t row_bytes =
      header.width * static_cast<std::size_t>(pixels.channels) * header.bit_depth / 8;
  for (int y = 0; y < pixels.format.size.height; ++y) {
    const int result = ::spng_encode_row(context.get(), pixels.row(y), row_bytes);
    if (result != SPNG_EOI) set(result);
  }
  std::size_t length = 0;
  int result = SPNG_OK;
  const std::unique_ptr<void, decltype(&std::free)> encoded(
      ::spng_get_png_buffer(context.get(), &length, &result), &std::free);
  set(result);
  const auto* first = static_cast<const std::byte*>(encoded.get());
  return {first, first + length};
}

}  // namespace parallax::tool
