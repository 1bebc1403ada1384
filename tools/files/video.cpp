// SPDX-License-Identifier: Apache-2.0
#include "tools/files/video.h"

#include <cerrno>
#include <cinttypes>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <sstream>

#include "parallax/error.h"

#include "tools/command/command.h"
#include "tools/command/json.h"
#include "tools/files/pictures.h"

namespace parallax::tool {
namespace {

constexpr const char* installation = "install it (Debian: apt install ffmpeg)";

// A longer gap does not count as missing frames.
constexpr std::size_t max_broken = 1000;

std::vector<std::string> words_of(const std::string& command) {
  std::istringstream stream(command);
  return {std::istream_iterator<std::string>(stream), {}};
}

// The encoders need even sizes.
Size even(Size size) {
  return {size.width + size.width % 2, size.height + size.height % 2};
}

// So that the name is taken neither for an option nor for a URL.
std::string as_file(const std::string& path) {
  return "file:" + path;
}

// Parses "30000/1001"; 0 = not such a number.
double ratio(const std::string& text) {
  double above = 0, below = 1;
  if (std::sscanf(text.c_str(), "%lf/%lf", &above, &below) < 1) return 0;
  const double value = above / below;
  return std::isfinite(value) && value > 0 ? value : 0;
}

// 0 = not a number.
double number_in(const nlohmann::ordered_json& object, const char* key) {
  const double number = std::strtod(object.value(key, std::string()).c_str(), nullptr);
  return std::isfinite(number) ? number : 0;
}

// Whether a pixel format of ffmpeg, "yuv420p10le" or "gray12le", has more than 8 bits per channel.
bool has_deep_pixels(const std::string& format) {
  for (const char* deep : {"p010", "p012", "p016", "p210", "p216", "p410", "p416", "y210", "y212", "xv30",
                           "xv36", "x2rgb10", "x2bgr10", "f32", "f16", "v30x"})
    if (format.find(deep) != std::string::npos) return true;
  if (!format.ends_with("le") && !format.ends_with("be")) return false;
  const std::string name = format.substr(0, format.size() - 2);
  // 48 and 64 bits of a pixel are 16 of a channel; rgb565le and the like have fewer than 8.
  for (const char* bits : {"9", "10", "12", "14", "16", "48", "64"})
    if (name.ends_with(bits)) return true;
  return false;
}

// The layout that Matroska's and MP4's metadata, which ffprobe tells alike, or a tag state.
std::optional<Layout> layout_in(const nlohmann::ordered_json& stream) {
  const auto layout_of = [](bool beside, bool right_first) {
    return beside        ? right_first ? Layout::right_left : Layout::side_by_side
           : right_first ? Layout::bottom_top
                         : Layout::top_bottom;
  };
  for (const auto& data : stream.value("side_data_list", nlohmann::ordered_json::array())) {
    const std::string type = data.value("type", "");
    if (type.starts_with("side by side") || type == "top and bottom")
      return layout_of(type != "top and bottom", data.value("inverted", 0) != 0);
  }
  const std::string mode = stream.value("tags", nlohmann::ordered_json::object()).value("stereo_mode", "");
  for (const bool beside : {true, false})
    for (const bool right_first : {false, true})
      if (mode == std::string(beside        ? right_first ? "right_left" : "left_right"
                              : right_first ? "bottom_top"
                                            : "top_bottom"))
        return layout_of(beside, right_first);
  return std::nullopt;
}

// Parses the JSON of ffprobe.
// \throws nlohmann::json::exception for anything else
VideoDescription description_in(const nlohmann::ordered_json& json) {
  const nlohmann::ordered_json& stream = json.at("streams").at(0);
  const auto format = json.value("format", nlohmann::ordered_json::object());
  VideoDescription description;
  description.frames = static_cast<std::size_t>(std::clamp(number_in(stream, "nb_frames"), 0.0, 1e12));
  description.frames_per_second = ratio(stream.value("avg_frame_rate", ""));
  const double nominal = ratio(stream.value("r_frame_rate", ""));
  description.is_steady = nominal > 0 && std::abs(nominal - description.frames_per_second) < 1e-3 * nominal;
  description.first_second = number_in(stream, "start_time") - number_in(format, "start_time");
  description.is_deep = has_deep_pixels(stream.value("pix_fmt", ""));
  description.layout = layout_in(stream);
  return description;
}

VideoDescription probe(const std::string& path) {
  std::vector<std::string> words = words_of(
      "ffprobe -v error -protocol_whitelist file -select_streams v:0 -show_entries "
      "stream=nb_frames,avg_frame_rate,r_frame_rate,start_time,pix_fmt:stream_side_data:stream_tags=stereo_"
      "mode:"
      "format=start_time -of json");
  words.push_back(as_file(path));
  ChildProcess ffprobe(words, {{1, false}}, installation);
  const std::string text = ffprobe.read_all(0);
  const bool has_succeeded = ffprobe.wait();
  try {
    if (has_succeeded) return description_in(parse_json_object(text));
  } catch (const JsonError&) {
  } catch (const nlohmann::json::exception&) {
  }
  throw Error(ErrorCategory::file, path + " is neither a picture nor a video that ffmpeg can read" +
                                       (ffprobe.complaint().empty() ? "" : " (" + ffprobe.complaint() + ")") +
                                       ": give pictures, or another video");
}

// Streams of the decoder: the time of each frame, as text, and its pixels.
constexpr std::size_t times = 0, pixels = 1;

}  // namespace

bool is_video(const std::string& path) {
  return !is_picture_name(path) && !holds_picture(path);
}

VideoReader::VideoReader(const std::string& path) : path_(path) {
  description_ = probe(path);
  start({"-protocol_whitelist", "file", "-i", as_file(path_)}, "give another video");
}

std::optional<Layout> VideoReader::stated_layout(const std::string& path) {
  return probe(path).layout;
}

VideoReader::VideoReader(const std::string& name, const std::vector<std::string>& input,
                         const std::atomic<bool>& stop)
    : path_(name), stop_(&stop) {
  start(input, "check that this camera is there and not in use");
}

std::unique_ptr<VideoReader> VideoReader::open_camera(const std::string& device,
                                                      const std::atomic<bool>& stop) {
  const auto made = [&](const std::vector<std::string>& input) {
    return std::unique_ptr<VideoReader>(new VideoReader(device, input, stop));
  };
  std::error_code error;
  if (std::filesystem::is_regular_file(device, error))
    return made({"-protocol_whitelist", "file", "-re", "-stream_loop", "-1", "-i", as_file(device)});
  // Time stamps of two cameras are those of the kernel's clock.
  return made({"-fflags", "nobuffer", "-copyts", "-f", "v4l2", "-i", device});
}

// Each frame is output twice: first its time, with a checksum that is not needed, then its pixels.
void VideoReader::start(const std::vector<std::string>& input, const std::string& remedy) {
  constexpr int times_of_child = 3;
  std::vector<std::string> words = words_of("ffmpeg -nostdin -v error");
  words.insert(words.end(), input.begin(), input.end());
  const std::vector<std::string> outputs = words_of(
      std::string("-filter_complex [0:v:0]format=") + (description_.is_deep ? "rgb48le" : "rgb24") +
      ",split[a][b] -map [a] -fps_mode passthrough " + (stop_ != nullptr ? "-enc_time_base -1 " : "") +
      "-f framecrc -flush_packets 1 pipe:" + std::to_string(times_of_child) +
      " -map [b] -fps_mode passthrough -f rawvideo pipe:1");
  words.insert(words.end(), outputs.begin(), outputs.end());
  decoder_ = std::make_unique<ChildProcess>(
      words, std::vector<ChildProcess::Stream>{{times_of_child, false}, {1, false}}, installation);
  if (stop_ != nullptr) decoder_->stop_at(*stop_);
  // Reads the header and the line of the first frame.
  decoded_ = next_number();
  if (!decoded_ || size_.width < 1 || size_.height < 1) {
    decoder_->wait();
    throw Error(ErrorCategory::file,
                path_ + " has no frame that ffmpeg can decode (" + decoder_->complaint() + "): " + remedy);
  }
}

std::string VideoReader::read_line() {
  std::string line;
  std::byte character;
  while (decoder_->read(times, {&character, 1}) == 1 && character != std::byte{'\n'})
    line += static_cast<char>(character);
  return line;
}

// The number of the next decoded frame; empty at the end. Lines of the header begin with "#".
std::optional<std::size_t> VideoReader::next_number() {
  for (;;) {
    const std::string line = read_line();
    if (line.empty()) return std::nullopt;
    double above = 0, below = 1;
    if (std::sscanf(line.c_str(), "#tb 0: %lf/%lf", &above, &below) == 2) seconds_per_tick_ = above / below;
    std::sscanf(line.c_str(), "#dimensions 0: %dx%d", &size_.width, &size_.height);
    std::int64_t shown = 0;
    if (line.starts_with('#') || std::sscanf(line.c_str(), "%*d, %*d, %" SCNd64, &shown) != 1) continue;
    decoded_seconds_ = static_cast<double>(shown) * seconds_per_tick_;
    if (!description_.is_steady) return position_;
    const double number = (static_cast<double>(shown) * seconds_per_tick_ - description_.first_second) *
                          description_.frames_per_second;
    const double missing = std::round(number) - static_cast<double>(position_);
    return position_ + (missing > 0 && missing <= max_broken ? static_cast<std::size_t>(missing) : 0);
  }
}

bool VideoReader::read(Picture& picture) {
  if (has_ended_) return false;
  if (!decoded_) decoded_ = next_number();
  if (!decoded_) return end();
  if (*decoded_ > position_) {
    const std::string number = std::to_string(position_++);
    throw Error(ErrorCategory::file, path_ + ": frame " + number + " is damaged: copy the video again");
  }
  decoded_.reset();
  seconds_ = decoded_seconds_;
  ++position_;
  decode(picture);
  return true;
}

void VideoReader::decode(Picture& picture) {
  picture = Picture({size_, description_.is_deep ? BitDepth::bits16 : BitDepth::bits8}, 3);
  if (description_.is_deep) picture.notes.range = {0, 65535};
  const std::span<std::byte> frame(picture.row(0), picture.pixel_bytes() * size_.pixels());
  if (decoder_->read(pixels, frame) == frame.size()) return;
  has_ended_ = true;
  decoder_->wait();
  throw Error(ErrorCategory::file, path_ + ": ffmpeg ended inside frame " + std::to_string(position_ - 1) +
                                       " (" + decoder_->complaint() + "): copy the video again");
}

bool VideoReader::end() {
  has_ended_ = true;
  const bool has_succeeded = decoder_->wait();
  // An MP4 may skip frames that it counts; ffmpeg complains only if the file is cut short.
  const bool may_be_edited =
      has_extension(path_, {".mp4", ".m4v", ".mov"}) && has_succeeded && decoder_->complaint().empty();
  if (position_ < announced() && !may_be_edited)
    throw Error(ErrorCategory::file, path_ + " ends after " + std::to_string(position_) + " of " +
                                         std::to_string(announced()) +
                                         " frames: it is cut short, copy it again");
  if (!has_succeeded)
    throw Error(ErrorCategory::file, path_ + ": ffmpeg failed after " + std::to_string(position_) +
                                         " frames (" + decoder_->complaint() + "): copy the video again");
  return false;
}

void check_video_path(const std::string& path) {
  if (!has_extension(path, {".avi", ".mp4"}))
    throw UsageError("--video is " + path + ": name it .avi or .mp4");
}

VideoWriter::VideoWriter(const std::string& path, double frames_per_second, Size size)
    : path_(path), file_(path) {
  const Size whole = even(size);
  frame_.resize(3 * whole.pixels());
  std::vector<std::string> words =
      words_of("ffmpeg -nostdin -v error -y -f rawvideo -pixel_format rgb24 -video_size " +
               std::to_string(whole.width) + "x" + std::to_string(whole.height) + " -framerate " +
               with_decimals(frames_per_second, 6) + " -i pipe:0 -flush_packets 1 -q:v 3 " +
               (has_extension(path, {".avi"}) ? "-c:v mjpeg -pix_fmt yuvj420p -f avi"
                                              : "-c:v mpeg4 -pix_fmt yuv420p -f mp4"));
  words.push_back(as_file(file_.temporary()));
  encoder_ =
      std::make_unique<ChildProcess>(words, std::vector<ChildProcess::Stream>{{0, true}}, installation);
}

void VideoWriter::fail() {
  encoder_->wait();
  const std::string complaint = encoder_->complaint();
  if (complaint.empty())
    throw Error(ErrorCategory::file,
                "cannot write " + path_ + ": ffmpeg failed without a message: try again");
  const bool is_full = complaint.find("No space left") != std::string::npos;
  const bool is_too_large = complaint.find("File too large") != std::string::npos;
  throw Error(ErrorCategory::file,
              "cannot write " + path_ + ": ffmpeg says " + complaint +
                  (is_full || is_too_large ? "; free some space, or choose another disk"
                                           : "; check the folder and ffmpeg"),
              is_full && is_transient(ENOSPC));
}

// Pads an odd width or height by repeating the last column or row.
void VideoWriter::write(const Picture& picture) {
  const Size size = picture.size(), whole = even(size);
  const std::size_t row_bytes = 3 * static_cast<std::size_t>(whole.width);
  for (int y = 0; y < whole.height; ++y) {
    const std::byte* from = picture.row(std::min(y, size.height - 1));
    std::byte* to = frame_.data() + static_cast<std::size_t>(y) * row_bytes;
    std::copy_n(from, 3 * size.width, to);
    if (whole.width > size.width) std::copy_n(from + 3 * (size.width - 1), 3, to + 3 * size.width);
  }
  if (!encoder_->write(0, frame_)) fail();
}

void VideoWriter::finish() {
  encoder_->close(0);
  if (!encoder_->wait() || !encoder_->complaint().empty()) fail();
  file_.finish();
  file_.take_place();
}

}  // namespace parallax::tool
