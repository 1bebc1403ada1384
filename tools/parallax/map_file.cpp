// SPDX-License-Identifier: Apache-2.0
#include "tools/parallax/map_file.h"

#include <bit>
#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "tools/parallax/file_errors.h"
#include "tools/parallax/pictures.h"
#include "tools/parallax/tiff.h"

namespace parallax::tool {
namespace {

constexpr std::ptrdiff_t float_bytes = sizeof(float);

class TiffMap : public MapWriter {
 public:
  TiffMap(const std::string& path, Size size) : file_(path, size.pixels() * sizeof(float)) {
    file_.begin({size, 1, 32});
  }
  void write_rows(int, View<const float> rows) override {
    file_.write_rows(rows.data, rows.size.height, rows.stride * float_bytes);
  }
  void close() override {
    file_.end();
    file_.close();
  }

 private:
  TiffWriter file_;
};

// The last row comes first in the file.
class PfmMap : public MapWriter {
 public:
  PfmMap(const std::string& path, Size size)
      : path_(path),
        size_(size),
        header_("Pf\n" + std::to_string(size.width) + " " + std::to_string(size.height) + "\n-1.0\n"),
        file_(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)) {
    static_assert(std::endian::native == std::endian::little, "rows are copied as they are");
    if (file_ < 0) fail_file("write", path_, errno);
    write_at(0, header_.data(), header_.size());
  }
  ~PfmMap() override {
    if (file_ >= 0) ::close(file_);
  }

  void write_rows(int first_row, View<const float> rows) override {
    const std::size_t row_bytes = static_cast<std::size_t>(size_.width) * sizeof(float);
    for (int y = 0; y < rows.size.height; ++y) {
      const auto below = static_cast<std::size_t>(size_.height - 1 - (first_row + y));
      write_at(header_.size() + below * row_bytes, rows.row(y), row_bytes);
    }
  }
  void close() override {
    if (::fsync(file_) != 0) fail_file("write", path_, errno);
    if (::close(std::exchange(file_, -1)) != 0) fail_file("write", path_, errno);
  }

 private:
  void write_at(std::size_t offset, const void* bytes, std::size_t count) {
    const auto* from = static_cast<const char*>(bytes);
    while (count > 0) {
      const ssize_t written = ::pwrite(file_, from, count, static_cast<off_t>(offset));
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) fail_file("write", path_, errno);
      from += written;
      offset += static_cast<std::size_t>(written);
      count -= static_cast<std::size_t>(written);
    }
  }

  std::string path_;
  Size size_;
  std::string header_;
  int file_;
};

}  // namespace

std::unique_ptr<MapWriter> write_map(const std::string& path, const std::string& name, Size size) {
  if (has_extension(name, {".pfm"})) return std::make_unique<PfmMap>(path, size);
  return std::make_unique<TiffMap>(path, size);
}

}  // namespace parallax::tool
