#include "tools/parallax/tile_results.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>

#include <unistd.h>

#include "tools/parallax/file_errors.h"
#include "tools/parallax/tiff.h"

namespace parallax::tool {
namespace {

namespace fs = std::filesystem;

std::string description_of(const TileJob& job, const Tile& tile) {
  return "tile " + std::to_string(tile.number) + " of plan " + job.fingerprint;
}

// The files in a folder whose names begin with one of these.
std::vector<std::string> find_files(const std::string& folder, const std::vector<std::string>& beginnings) {
  std::error_code error;
  std::vector<std::string> files;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (std::any_of(beginnings.begin(), beginnings.end(),
                    [&](const std::string& beginning) { return name.starts_with(beginning); }))
      files.push_back(entry->path().string());
  }
  if (error) fail_file("read folder", folder, error.value());
  return files;
}

// The pictures of a result.
constexpr int disparities = 0, statuses = 1;

TiffFormat format_of(int picture, Size size) {
  return {size, 1, picture == disparities ? 32 : 8};
}

void write_picture(TiffWriter& file, int picture, const std::string& description, Size size, const void* rows,
                   std::ptrdiff_t stride_bytes) {
  file.begin(format_of(picture, size), false, description);
  file.write_rows(rows, size.height, stride_bytes);
  file.end();
}

[[noreturn]] void refuse_tile(const std::string& path, const char* why) {
  throw Error(ErrorCategory::file, path + ": " + why + ": match this tile again");
}

// What was in order a while ago may have been replaced by a process of another plan.
void read_picture_rows(const TileJob& job, const Tile& tile, int picture, const Rectangle& region, void* rows,
                       std::ptrdiff_t stride_bytes) {
  const std::string path = tile_path(job, tile.number);
  std::optional<TiffReader> file = TiffReader::open(path, picture);
  if (!file || file->format() != format_of(picture, tile.inside.size)) refuse_tile(path, "cannot be read");
  if (file->description() != description_of(job, tile)) refuse_tile(path, "is of another plan");
  file->read(region, rows, stride_bytes);
}

void check_statuses(const std::string& path, View<const std::uint8_t> status) {
  for (int y = 0; y < status.size.height; ++y)
    if (std::any_of(status.row(y), status.row(y) + status.size.width,
                    [](std::uint8_t value) { return value >= status_count; }))
      refuse_tile(path, "is damaged");
}

}  // namespace

std::string tile_path(const TileJob& job, int number) {
  char name[32];
  std::snprintf(name, sizeof name, "tile-%06d.tiff", number);
  return (fs::path(job.folder) / name).string();
}

TileState state_of(const TileJob& job, const Tile& tile) {
  const std::string path = tile_path(job, tile.number);
  std::error_code unknown;
  if (!fs::exists(path, unknown)) return TileState::missing;
  for (const int picture : {disparities, statuses}) {
    const std::optional<TiffReader> file = TiffReader::open(path, picture);
    if (!file || !file->is_complete()) return TileState::damaged;
    const std::string description = file->description();
    if (description.empty()) return TileState::damaged;
    if (description != description_of(job, tile)) return TileState::foreign;
    if (file->format() != format_of(picture, tile.inside.size)) return TileState::damaged;
  }
  return TileState::done;
}

void remove_folder(const std::string& folder) {
  // The plan goes first: what is left without one is in nobody's way.
  remove_file((fs::path(folder) / "plan.json").string());
  for (const std::string& file : find_files(folder, {"tile-", "worker-", "map."})) remove_file(file);
  // Unless there is something of the user's in it.
  std::error_code ignored;
  fs::remove(folder, ignored);
}

void remove_maps(const std::string& folder) {
  for (const std::string& file : find_files(folder, {"map."})) remove_file(file);
}

void write_tile(const TileJob& job, const Tile& tile, View<const float> disparity,
                View<const std::uint8_t> status) {
  const std::string path = tile_path(job, tile.number);
  // Several processes may match one tile: each writes a file of its own.
  const std::string part = path + "." + std::to_string(::getpid()) + ".part";
  const std::string description = description_of(job, tile);
  try {
    TiffWriter file(part, tile.inside.size.pixels() * 5);
    write_picture(file, disparities, description, tile.inside.size, disparity.data,
                  disparity.stride * static_cast<std::ptrdiff_t>(sizeof(float)));
    write_picture(file, statuses, description, tile.inside.size, status.data, status.stride);
    file.close();
    if (::rename(part.c_str(), path.c_str()) != 0) fail_file("write", path, errno);
  } catch (...) {
    ::unlink(part.c_str());
    throw;
  }
}

void read_tile(const TileJob& job, const Tile& tile, int first_row, const DisparityMap& rows) {
  const Rectangle region{0, first_row - tile.inside.y, rows.disparity.size};
  read_picture_rows(job, tile, disparities, region, rows.disparity.data,
                    rows.disparity.stride * static_cast<std::ptrdiff_t>(sizeof(float)));
  read_picture_rows(job, tile, statuses, region, rows.status.data, rows.status.stride);
  check_statuses(tile_path(job, tile.number), rows.status);
}

std::string text_of_numbers(const std::vector<int>& numbers) {
  std::string text;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    text += (text.empty() ? "" : ", ") + std::to_string(numbers[i]);
    if (last > i) text += (last == i + 1 ? ", " : " to ") + std::to_string(numbers[last]);
    i = last + 1;
  }
  return text;
}

}  // namespace parallax::tool
