// SPDX-License-Identifier: Apache-2.0
// JPEG, by libjpeg-turbo, which reports errors by longjmp(): functions that it may jump out of have no
// objects with destructors.
#include <csetjmp>
#include <cstdio>

#include <jpeglib.h>
// Must follow jpeglib.h.
#include <jerror.h>

#include "tools/files/pictures/codecs.h"

namespace parallax::tool {
namespace {

struct Errors {
  jpeg_error_mgr base;  // first: libjpeg knows only this
  std::jmp_buf leave;
  char message[JMSG_LENGTH_MAX];
};

Errors& errors_of(j_common_ptr info) {
  return *reinterpret_cast<Errors*>(info->err);
}

[[noreturn]] void fail(j_common_ptr info) {
  Errors& errors = errors_of(info);
  errors.base.format_message(info, errors.message);
  std::longjmp(errors.leave, 1);
}

// Warnings have level −1. libjpeg continues after damage and fills missing parts with gray.
void hear(j_common_ptr info, int level) {
  if (level < 0 && info->err->msg_code != JWRN_EXTRANEOUS_DATA && info->err->msg_code != JWRN_ADOBE_XFORM &&
      info->err->msg_code != JWRN_BOGUS_PROGRESSION)
    fail(info);
}

constexpr int exif_marker = JPEG_APP0 + 1;

class JpegReader {
 public:
  explicit JpegReader(const std::string& name) : name_(name) {
    info_.err = jpeg_std_error(&errors_.base);
    errors_.base.error_exit = &fail;
    errors_.base.emit_message = &hear;
  }
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;
  ~JpegReader() { jpeg_destroy_decompress(&info_); }

  ImageFormat read_format(std::FILE* file) {
    return format_after(start([=, this] { jpeg_stdio_src(&info_, file); }));
  }

  Picture read(Bytes bytes) {
    const ImageFormat format = format_after(start([=, this] {
      jpeg_mem_src(&info_, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
    }));
    const int channels = info_.num_components == 1 ? 1 : 3;
    Picture picture(format, channels);
    std::vector<std::byte> four(info_.num_components == 4 ? info_.image_width * std::size_t{4} : 0);
    picture.notes.orientation = stored_orientation();  // before libjpeg discards it
    if (!decode(picture, four.data())) fail_damaged(name_, errors_.message);
    return picture;
  }

 private:
  template <class Source>
  bool start(Source source) {
    if (setjmp(errors_.leave) != 0) return false;
    jpeg_create_decompress(&info_);
    source();
    jpeg_save_markers(&info_, exif_marker, 0xFFFF);
    jpeg_read_header(&info_, TRUE);
    return true;
  }

  ImageFormat format_after(bool started) const {
    if (!started) fail_damaged(name_, errors_.message);
    check_picture_size(info_.image_width, info_.image_height, name_);
    return {{static_cast<int>(info_.image_width), static_cast<int>(info_.image_height)}, BitDepth::bits8};
  }

  // `four`: a row of four components, where the picture has these.
  bool decode(Picture& picture, std::byte* four) {
    if (setjmp(errors_.leave) != 0) return false;
    info_.out_color_space = info_.num_components == 1   ? JCS_GRAYSCALE
                            : info_.num_components == 4 ? JCS_CMYK
                                                        : JCS_RGB;
    jpeg_start_decompress(&info_);
    while (info_.output_scanline < info_.output_height) {
      std::byte* row = picture.row(static_cast<int>(info_.output_scanline));
      auto* to = reinterpret_cast<JSAMPLE*>(four != nullptr ? four : row);
      jpeg_read_scanlines(&info_, &to, 1);
      if (four != nullptr) from_cmyk(to, row, info_.output_width);
    }
    jpeg_finish_decompress(&info_);
    return true;
  }

  // As in files for printing, 255 is no ink.
  static void from_cmyk(const JSAMPLE* from, std::byte* to, std::size_t pixels) {
    for (std::size_t i = 0; i < pixels; ++i, from += 4)
      for (int channel = 0; channel < 3; ++channel)
        *to++ = static_cast<std::byte>(from[3] - ((255 - from[channel]) * from[3] >> 8));
  }

  int stored_orientation() const {
    for (const jpeg_marker_struct* marker = info_.marker_list; marker != nullptr; marker = marker->next) {
      const Bytes data(reinterpret_cast<const std::byte*>(marker->data), marker->data_length);
      if (marker->marker == exif_marker && begins_with(data, exif_prefix))
        return exif_orientation(data.subspan(exif_prefix.size()));
    }
    return 1;
  }

  std::string name_;
  Errors errors_{};
  jpeg_decompress_struct info_{};
};

}  // namespace

bool is_jpeg(Bytes bytes) {
  return begins_with(bytes, "\xFF\xD8\xFF");
}

Picture decode_jpeg(Bytes bytes, const std::string& name) {
  return JpegReader(name).read(bytes);
}

ImageFormat read_jpeg_format(std::FILE* file, const std::string& name) {
  return JpegReader(name).read_format(file);
}

}  // namespace parallax::tool
