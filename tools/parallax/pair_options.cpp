// SPDX-License-Identifier: Apache-2.0
#include "tools/parallax/pair_options.h"

#include <charconv>
#include <cmath>
#include <limits>

#include "tools/files/pictures.h"
#include "tools/files/video.h"

namespace parallax::tool {
namespace {

std::optional<double> number_of(const std::string& text) {
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [last, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && last == end && std::isfinite(number) ? std::optional(number) : std::nullopt;
}

// Labels of the MEMOCODE 2013 design contest.
constexpr int labels_of_cost_files = 16;

}  // namespace

Option& add_picture_options(Options& options, Input& input) {
  options.group("Input");
  Option& left = options.add(
      "LEFT", input.left,
      "Left picture; for a sequence: a folder, a pattern such as left_%04d.png or '*/left.png', or a video");
  options.add("RIGHT", input.right, "Right picture, rectified with the left one unless --rig is given");
  add_layout_options(options, input);
  return left;
}

void add_layout_options(Options& options, Input& input) {
  Choices<std::optional<Layout>> choices;
  for (const Layout each : {Layout::side_by_side, Layout::right_left, Layout::top_bottom, Layout::bottom_top})
    choices.emplace_back(name(each), each);
  options.add_choice(
      "--layout", input.layout, choices,
      "LEFT contains both views; leave out RIGHT. By default as 3-D videos, MPO and JPS pictures say");
  options.add_flag("--side-by-side", input.side_by_side, "Same as --layout side-by-side");
}

void settle_layout(Input& input) {
  if (!input.side_by_side) return;
  if (input.layout.value_or(Layout::side_by_side) != Layout::side_by_side)
    throw UsageError("--side-by-side and --layout differ: give one of them");
  input.layout = Layout::side_by_side;
}

void check_views(const Input& input, const std::string& command) {
  const std::string see = "; see 'parallax " + command + " --help'";
  if (input.left.empty()) throw UsageError("LEFT is required" + see);
  if (input.layout && !input.right.empty())
    throw UsageError(std::string(input.side_by_side ? "--side-by-side" : "--layout") +
                     " takes both views from " + input.left + ": leave out " + input.right);
  if (!input.layout && input.right.empty() && !states_layout(input))
    throw UsageError("RIGHT is required, or --layout if " + input.left + " contains both views" + see);
}

void add_value_options(Options& options, PictureOptions& pictures) {
  options.group("Values of the pictures");
  const auto take = [&pictures](double low, double high, const std::string& option) {
    if (!(low < high)) return false;
    pictures.range = {low, high};
    pictures.range_text = option;
    return true;
  };
  options.add_text(
      "--bits", "N", "", "a number from 1 to 16",
      [take](const std::string& text) {
        const std::optional<double> bits = number_of(text);
        return bits && *bits >= 1 && *bits <= 16 && *bits == std::floor(*bits) &&
               take(0, std::exp2(*bits) - 1, "--bits " + text);
      },
      "Bits that the camera has: N = 0 is black and 2^N - 1 is white; by default as the files say, else, for "
      "16 bits, "
      "the values that both pictures have");
  options.add_text(
      "--value-range", "LOW:HIGH", "", "two numbers, such as 7600:7780",
      [take](const std::string& text) {
        const std::size_t colon = text.find(':');
        if (colon == std::string::npos) return false;
        const std::optional<double> low = number_of(text.substr(0, colon)),
                                    high = number_of(text.substr(colon + 1));
        return low && high && take(*low, *high, "--value-range " + text);
      },
      "Values of black and of white in the files; pictures of floating-point numbers need it");
  options.add_text(
      "--no-data", "V", "", "a number",
      [&pictures](const std::string& text) {
        pictures.no_data =
            text == "nan" ? std::optional(std::numeric_limits<double>::quiet_NaN()) : number_of(text);
        return pictures.no_data.has_value();
      },
      "Pixels of this value are not valid; by default as a TIFF of GDAL says");
  options
      .add_flag("--ignore-orientation", pictures.ignore_orientation,
                "Take pictures as they are stored, whatever their EXIF data say")
      .expert();
  using enum PictureOptions::Bayer;
  options.add_choice<PictureOptions::Bayer>(
      "--bayer", pictures.bayer, {{"rggb", rggb}, {"grbg", grbg}, {"gbrg", gbrg}, {"bggr", bggr}},
      "Pictures are raw mosaics of a sensor, whose first two rows begin with these colours");
}

void add_calibration_options(Options& options, Input& input) {
  options
      .add_text(
          "--calib", "FILE", "", "a file",
          [&input](const std::string& text) {
            input.calibration.push_back(text);
            return true;
          },
          "Calibration of the rectified pair: Middlebury's or KITTI's calib.txt, OpenCV's .yml, two files of "
          "ROS, and others; its ndisp is the default of --disparities")
      .repeats();
  options.add("--left-mask FILE", input.left_mask, "Gray picture: 0 = this pixel of LEFT is not valid");
  options.add("--right-mask FILE", input.right_mask, "Gray picture: 0 = this pixel of RIGHT is not valid");
}

Arguments with_both_calibrations(const Arguments& arguments) {
  const auto is_yaml = [](const std::string& word) { return has_extension(word, {".yaml", ".yml"}); };
  Arguments result;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    result.push_back(arguments[i]);
    const bool apart = arguments[i] == "--calib";
    if (!apart && !arguments[i].starts_with("--calib=")) continue;
    if (apart && i + 1 < arguments.size()) result.push_back(arguments[++i]);
    if (is_yaml(arguments[i]) && i + 1 < arguments.size() && is_yaml(arguments[i + 1]))
      result.insert(result.end(), {"--calib", arguments[++i]});
  }
  return result;
}

void add_cost_file_option(Options& options, Input& input) {
  options
      .add("--cost-file FILE", input.cost_file,
           "Text file of data costs to use instead of the matcher's own: width, height, then an integer for "
           "each label of each pixel; " +
               std::to_string(labels_of_cost_files) + " labels unless --disparities is given (" +
               join(methods_with(&Capabilities::volume)) + ")")
      .expert();
}

void settle_cost_file(const Options& options, const Input& input, Search& search) {
  if (input.cost_file.empty()) return;
  if (!capabilities(search.method).volume)
    throw UsageError("--cost-file works only with these methods: " +
                     join(methods_with(&Capabilities::volume)) + "; choose one of them with --method");
  options.refuse({"--cost"}, " and --cost-file exclude each other: give one of them");
  set_parameter(search.parameters, "cost", "volume");
  if (!options.given("--disparities")) search.parameters.disparities() = labels_of_cost_files;
  search.range_given = true;
}

void add_rectification_options(Options& options, RectifyParameters& parameters, RigChoices& choices,
                               bool with_unit) {
  options
      .add("--alpha", parameters.alpha,
           "What to show: 0 = only what both cameras saw; 1 = all pixels of both, with the rest masked")
      .range(0, 1);
  options.add("--zoom", parameters.zoom, "Factor of the focal length of the rectified pictures")
      .range(1e-3, 1e3);
  options.add("--output-size", parameters.size,
              "Size of the rectified pictures; default: that of the left picture");
  options.add_flag(
      "--free-centres", [&parameters](bool on) { parameters.same_centres = !on; },
      "Give each picture its own principal point, for cameras that converge");
  options.add_choice<Interpolation>(
      "--interpolation", parameters.interpolation,
      {{"bilinear", Interpolation::bilinear}, {"lanczos3", Interpolation::lanczos3}},
      "How values between pixels are computed");
  options.group("What the file of the rig does not say");
  add_rig_options(options, choices, with_unit);
}

void add_rectify_options(Options& options, Input& input, bool with_unit) {
  options.group("Pictures that are not rectified");
  options.add_files("--rig", input.rig,
                    "Calibration of the two cameras: rectifies the pictures; see 'parallax rig --help'");
  add_rectification_options(options, input.rectify, input.choices, with_unit);
  options.group("Pictures that are not rectified");
}

void check_rectify_options(const Options& options, const Input& input) {
  if (input.rig.empty()) {
    options.refuse({"--alpha", "--zoom", "--output-size", "--free-centres", "--interpolation", "--fisheye"},
                   " needs --rig: give both");
    if (input.calibration.empty())
      options.refuse({"--size", "--cameras", "--exchange"}, " needs --rig or --calib: give one of them");
    return;
  }
  // Those of the rectified pair follow from the rig.
  options.refuse({"--calib", "--left-mask", "--right-mask", "--cost-file"},
                 " is for rectified pictures: leave it out with --rig");
}

void add_truth_options(Options& options, TruthFile& truth, const std::string& help) {
  options.add("--truth FILE", truth.path, help);
  options.add("--truth-scale X", truth.scale, "Gray levels per pixel of disparity in an 8-bit --truth")
      .range(1e-6, 1e6);
  add_unknown_option(options, truth.unknown);
}

void add_unknown_option(Options& options, std::string& unknown) {
  options.add("--truth-none V", unknown,
              "Value of pixels whose truth is unknown, as the file has it, besides infinity, NaN and, in "
              "pictures, 0; 'none' = no other; default: 0 or -1 in floats, if the other values show it");
}

void check_truth(const TruthFile& truth) {
  if (truth.scale > 0 && truth.path.empty()) throw UsageError("--truth-scale needs --truth: give both");
  if (!truth.unknown.empty() && truth.path.empty()) throw UsageError("--truth-none needs --truth: give both");
  check_unknown(truth.unknown);
}

void add_unit_option(Options& options, double& unit) {
  options.add_choice<double>("--unit", unit, {{"m", 1}, {"cm", 0.01}, {"mm", 0.001}},
                             "Unit of the baseline; by default mm for calib.txt, m for other files");
}

void add_video_options(Options& options, VideoOptions& video) {
  options.add("--video FILE", video.path, "Coloured video of a sequence (.avi or .mp4)");
  options
      .add("--fps X", video.frames_per_second,
           "Frames per second of --video; 0 = as the input, or 30 if that is unknown")
      .range(0, 1000);
}

void check_video(const VideoOptions& video) {
  if (!video.path.empty()) check_video_path(video.path);
  if (video.frames_per_second > 0 && video.path.empty()) throw UsageError("--fps needs --video: give both");
}

void add_tile_options(Options& options, Search& search, TileOptions& tiles) {
  options.group("Larger than memory");
  options.add_memory("--max-memory", search.max_memory,
                     "Memory limit, such as 2G: a pair that needs more is matched in tiles; 0 = seven "
                     "eighths of the machine's memory");
  options.add("--tile-size", tiles.largest, "Largest tile, overlap included; default: what memory allows")
      .expert();
  options
      .add(
          "--padding N", tiles.padding,
          "Pixels of overlap around each tile (" + join(methods_with(&Capabilities::approximate_tiles)) + ")")
      .range(0, 1'000'000)
      .expert();
}

void check_extension(const std::string& option, const std::string& path,
                     std::initializer_list<const char*> extensions, const std::string& names) {
  if (!path.empty() && !names_folder(path) && !has_extension(path, extensions))
    throw UsageError(option + " is " + path + ": name it " + names);
}

void check_map_path(const std::string& option, const std::string& path) {
  check_extension(option, path, {".pfm", ".tif", ".tiff"}, ".pfm or .tiff");
}

void check_image_path(const std::string& path) {
  check_extension("--image", path, {".png"}, ".png");
}

void register_inputs(const Input& input, CommandFiles& files) {
  for (const std::string& path : {input.left, input.right, input.left_mask, input.right_mask})
    files.reads(path);
  for (const std::string& path : input.calibration) files.reads(path);
  for (const std::string& path : input.rig) files.reads(path);
  files.reads_once(input.cost_file);
}

void add_plan_argument(Options& options, PlanFile& plan) {
  options.add("PLAN", plan.path, "Plan written by 'parallax plan'").required();
}

void add_path_map_option(Options& options, PlanFile& plan) {
  options
      .add_text(
          "--path-map", "FROM=TO", "", "FROM=TO",
          [&plan](const std::string& text) {
            plan.maps.push_back(text);
            return true;
          },
          "Files of the plan below folder FROM are below TO on this machine; may be repeated")
      .repeats();
}

}  // namespace parallax::tool
