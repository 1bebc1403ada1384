// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <deque>
#include <filesystem>
#include <numeric>
#include <span>
#include <thread>
#include <vector>

#include "parallax/parallax_c.h"

#include "support.h"

namespace parallax::test {
namespace {

constexpr Size size{72, 40};

SynthPair scene() {
  return synthesize({size, 16});
}

parallax_image image_of(const ImageView& view) {
  return {sizeof(parallax_image), view.data,
          view.format.size.width, view.format.size.height,
          view.stride_bytes,      view.format.depth == BitDepth::bits8 ? PARALLAX_UINT8 : PARALLAX_UINT16,
          view.channels};
}

template <class T>
constexpr parallax_type type_of = sizeof(T) == 4 ? PARALLAX_FLOAT32 : PARALLAX_UINT8;

template <class T>
parallax_image image_of(const Plane<T>& plane) {
  return {sizeof(parallax_image),
          plane.row(0),
          plane.width(),
          plane.height(),
          plane.view().stride_bytes,
          type_of<T>,
          1};
}

template <class T>
parallax_output output_of(Plane<T>& plane, int channels = 1) {
  return {sizeof(parallax_output),
          plane.row(0),
          plane.width() / channels,
          plane.height(),
          plane.view().stride_bytes,
          type_of<T>,
          channels};
}

// The arguments of a run.
struct Arguments {
  explicit Arguments(const StereoPair& pair, Result& result)
      : left(image_of(pair.left)),
        right(image_of(pair.right)),
        disparity(output_of(result.disparity)),
        status(output_of(result.status)),
        confidence(output_of(result.confidence)),
        row_offset(output_of(result.row_offset)) {
    given.left = &left;
    given.right = &right;
    map.disparity = &disparity;
    map.status = &status;
    if (result.confidence.width() > 0) map.confidence = &confidence;
    if (result.row_offset.width() > 0) map.row_offset = &row_offset;
  }
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;

  parallax_image left, right;
  parallax_output disparity, status, confidence, row_offset;
  parallax_pair given = PARALLAX_PAIR_INIT;
  parallax_map map = PARALLAX_MAP_INIT;
};

class Handle {
 public:
  explicit Handle(const std::string& method, const char* preset = nullptr) {
    EXPECT_EQ(parallax_matcher_create(method.c_str(), preset, &matcher_), PARALLAX_OK)
        << parallax_error_message();
  }
  ~Handle() { parallax_matcher_release(matcher_); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  operator parallax_matcher*() const { return matcher_; }

 private:
  parallax_matcher* matcher_ = nullptr;
};

void expect_code(parallax_code expected, parallax_code code, std::string_view part) {
  EXPECT_EQ(code, expected);
  EXPECT_TRUE(contains(parallax_error_message(), part)) << parallax_error_message() << "\nlacks " << part;
}

void expect_ok(parallax_code code) {
  EXPECT_EQ(code, PARALLAX_OK) << parallax_error_message();
}

void plan(parallax_matcher* matcher) {
  expect_ok(parallax_matcher_plan(matcher, size.width, size.height, PARALLAX_UINT8));
}

TEST(CTest, EveryMethodGivesTheBytesOfCpp) {
  const SynthPair pair = scene();
  const StereoPair views{pair.left_view(), pair.right_view()};
  for (const std::string& method : list_methods()) {
    MatcherParameters parameters = preset(method, "default");
    parameters.disparities() = 16;
    Matcher cpp(parameters, cpu(2), {size});
    Handle matcher(method);
    expect_ok(parallax_matcher_set_int(matcher, "disparities", 16));
    expect_ok(parallax_matcher_set_device(matcher, "cpu", 2));
    plan(matcher);
    int32_t has_confidence = -1;
    expect_ok(parallax_matcher_has_confidence(matcher, &has_confidence));
    EXPECT_EQ(has_confidence, cpp.has_confidence()) << method;
    Result expected(size, 0, has_confidence), actual(size, 1, has_confidence);
    cpp.run(views, expected.map());
    Arguments arguments(views, actual);
    expect_ok(parallax_matcher_run(matcher, &arguments.given, &arguments.map));
    expect_same(expected, actual, method);
    uint64_t held = 0, estimated = 0;
    expect_ok(parallax_matcher_memory(matcher, &held));
    expect_ok(parallax_matcher_estimate_memory(matcher, size.width, size.height, PARALLAX_UINT8, &estimated));
    EXPECT_EQ(held, cpp.memory_bytes());
    EXPECT_EQ(estimated, held);
    const parallax_stage* stages = nullptr;
    std::size_t count = 0;
    expect_ok(parallax_matcher_stages(matcher, &stages, &count));
    ASSERT_EQ(count, cpp.stage_times().size());
    EXPECT_STREQ(stages[0].name, cpp.stage_times()[0].stage);
  }
}

TEST(CTest, RowOffsetsAreThoseOfCpp) {
  const SynthPair pair = scene();
  const StereoPair views{pair.left_view(), pair.right_view()};
  MotionParameters parameters;
  parameters.min_row_offset = -2;
  parameters.row_offsets = 4;
  Matcher cpp(parameters, reference, {size});
  Handle matcher("motion");
  expect_ok(parallax_matcher_set_int(matcher, "min_row_offset", -2));
  expect_ok(parallax_matcher_set_int(matcher, "row_offsets", 4));
  expect_ok(parallax_matcher_set_device(matcher, "reference", 1));
  plan(matcher);
  int32_t has = -1;
  expect_ok(parallax_matcher_has_row_offsets(matcher, &has));
  EXPECT_EQ(has, 1);
  Result expected(size, 0, false, true), actual(size, 1, false, true);
  cpp.run(views, expected.map());
  Arguments arguments(views, actual);
  expect_ok(parallax_matcher_run(matcher, &arguments.given, &arguments.map));
  expect_same(expected, actual, "motion");

  // A program built for the first version does not know the member, so it is not read.
  Result without(size, 1);
  Arguments older(views, without);
  older.map.struct_size = offsetof(parallax_map, row_offset);
  older.map.row_offset = &arguments.disparity;
  expect_ok(parallax_matcher_run(matcher, &older.given, &older.map));
  EXPECT_TRUE(same_bytes(expected.disparity, without.disparity));
  EXPECT_TRUE(same_bytes(expected, actual));

  arguments.row_offset.width = 5;
  expect_code(PARALLAX_ERROR_ARGUMENT, parallax_matcher_run(matcher, &arguments.given, &arguments.map),
              "map of row offsets is 5");
  Handle block("block");
  plan(block);
  expect_ok(parallax_matcher_has_row_offsets(block, &has));
  EXPECT_EQ(has, 0);
  expect_code(PARALLAX_ERROR_ARGUMENT, parallax_matcher_run(block, &arguments.given, &arguments.map),
              "searches no rows: leave out the map of row offsets");
}

TEST(CTest, RowsMayRunBackwardsAndMasksAreUsed) {
  const SynthPair pair = scene();
  Plane<std::uint8_t> mask(size, 255);
  for (int y = 0; y < 10; ++y) std::fill_n(mask.row(y), size.width, 0);
  const auto flipped = [](ImageView view) {
    view.data = view.row(view.format.size.height - 1);
    view.stride_bytes = -view.stride_bytes;
    return view;
  };
  const StereoPair views{flipped(pair.left_view()), flipped(pair.right_view()), mask.view(), {}};
  CensusParameters parameters;
  parameters.disparities = 16;
  const Result expected = match(parameters, cpu(1), views);
  Handle matcher("census");
  expect_ok(parallax_matcher_set_json(matcher, R"({"disparities": 16})"));
  plan(matcher);
  Result actual(size);
  Arguments arguments(views, actual);
  const parallax_image left_mask = image_of(mask);
  arguments.given.left_mask = &left_mask;
  expect_ok(parallax_matcher_run(matcher, &arguments.given, &arguments.map));
  expect_same(expected, actual, "flipped");
  EXPECT_EQ(actual.status.at(30, 5), PARALLAX_INPUT_MASKED);
}

TEST(CTest, CostsOfTheCallerAreTaken) {
  const int labels = 4;
  std::vector<float> costs(size.pixels() * labels);
  for (std::size_t i = 0; i < costs.size(); ++i) costs[i] = static_cast<float>(i * 7919 % 251);
  TiledBeliefPropagationParameters parameters = plain_tiled_belief_propagation();
  parameters.disparities = labels;
  parameters.cost = DataCost::volume;
  const SynthPair pair = scene();
  const Result expected =
      match(parameters, cpu(1), {pair.left_view(), pair.right_view(), {}, {}, {costs.data(), size, labels}});
  Handle matcher("tiled-bp");
  expect_ok(parallax_matcher_set_json(matcher, to_json(parameters).c_str()));
  plan(matcher);
  Result actual(size);
  Arguments arguments({pair.left_view(), pair.right_view()}, actual);
  const parallax_image volume{sizeof(parallax_image),
                              costs.data(),
                              size.width,
                              size.height,
                              static_cast<int64_t>(sizeof(float)) * size.width * labels,
                              PARALLAX_FLOAT32,
                              labels};
  arguments.given.costs = &volume;
  expect_ok(parallax_matcher_run(matcher, &arguments.given, &arguments.map));
  expect_same(expected, actual, "volume");
}

TEST(CTest, ListsAreThoseOfCpp) {
  const char* const* names = nullptr;
  std::size_t count = 0;
  expect_ok(parallax_list_methods(&names, &count));
  EXPECT_EQ(std::vector<std::string>(names, names + count), list_methods());
  for (const std::string& method : list_methods()) {
    expect_ok(parallax_list_presets(method.c_str(), &names, &count));
    EXPECT_EQ(std::vector<std::string>(names, names + count), list_presets(method));
    const parallax_parameter* const* parameters = nullptr;
    expect_ok(parallax_list_parameters(method.c_str(), &parameters, &count));
    const std::vector<ParameterInfo> expected = list_parameters(method);
    ASSERT_EQ(count, expected.size());
    for (std::size_t i = 0; i < count; ++i) {
      const parallax_parameter& parameter = *parameters[i];
      EXPECT_EQ(parameter.name, expected[i].name);
      EXPECT_EQ(parameter.help, expected[i].help);
      EXPECT_EQ(parameter.allowed, expected[i].allowed);
      EXPECT_EQ(parameter.kind, static_cast<int>(expected[i].kind));
      EXPECT_EQ(parameter.least, expected[i].least);
      EXPECT_EQ(parameter.choice_count, expected[i].choices.size());
      ASSERT_EQ(parameter.device_count, expected[i].devices.size());
      for (std::size_t k = 0; k < parameter.device_count; ++k)
        EXPECT_STREQ(parameter.devices[k], name(expected[i].devices[k]));
      for (std::size_t k = 0; k < parameter.choice_count; ++k)
        EXPECT_TRUE(std::string(parameter.choice_devices[k]).starts_with("reference, cpu"));
      EXPECT_EQ(parameter.default_value, get_parameter(preset(method, "default"), parameter.name));
    }
  }
  const parallax_device* const* devices = nullptr;
  expect_ok(parallax_list_devices(&devices, &count));
  ASSERT_EQ(count, list_devices().size());
  EXPECT_STREQ(devices[0]->name, "reference");
}

TEST(CTest, ParametersAreSetByName) {
  Handle matcher("bp");
  const char* value = nullptr;
  const auto get = [&](const char* name) {
    expect_ok(parallax_matcher_get_string(matcher, name, &value));
    return std::string(value);
  };
  expect_ok(parallax_matcher_set_int(matcher, "levels", 3));
  EXPECT_EQ(get("levels"), "3");
  expect_ok(parallax_matcher_set_int(matcher, "left_right_check", 0));
  EXPECT_EQ(get("left_right_check"), "false");
  expect_ok(parallax_matcher_set_float(matcher, "smoothing", 0.1));
  EXPECT_EQ(get("smoothing"), "0.1");
  expect_ok(parallax_matcher_set_string(matcher, "arithmetic", "float32"));
  EXPECT_EQ(get("arithmetic"), "float32");
  expect_ok(parallax_matcher_set_json(matcher, R"({"preset": "grauer-gray-2019", "levels": 2})"));
  EXPECT_EQ(get("levels"), "2");
  EXPECT_EQ(get("left_right_check"), get_parameter(preset("bp", "grauer-gray-2019"), "left_right_check"));

  expect_code(PARALLAX_ERROR_ARGUMENT, parallax_matcher_set_int(matcher, "window", 9), "parameter is window");
  expect_code(PARALLAX_ERROR_ARGUMENT, parallax_matcher_set_int(matcher, "levels", 99), "levels is 99");
  expect_code(PARALLAX_ERROR_ARGUMENT, parallax_matcher_set_float(matcher, "levels", 2.5), "levels is 2.5");
  expect_code(PARALLAX_ERROR_ARGUMENT, parallax_matcher_set_float(matcher, "smoothing", NAN),
              "smoothing is nan");
  expect_code(PARALLAX_ERROR_ARGUMENT, parallax_matcher_set_json(matcher, "[1]"), "not a JSON object");
  const std::string deep = R"({"levels": )" + std::string(1'000'000, '[') + std::string(1'000'000, ']') + "}";
  expect_code(PARALLAX_ERROR_ARGUMENT, parallax_matcher_set_json(matcher, deep.c_str()), "100 levels deep");
  expect_code(PARALLAX_ERROR_ARGUMENT, parallax_matcher_set_json(matcher, R"({"method": "block"})"), "block");
  // Sets all values or none.
  expect_code(PARALLAX_ERROR_ARGUMENT, parallax_matcher_set_json(matcher, R"({"levels": 5, "window": 9})"),
              "window");
  EXPECT_EQ(get("levels"), "2");
  const char* json = nullptr;
  expect_ok(parallax_matcher_get_json(matcher, &json));
  EXPECT_EQ(to_json(parameters_from_json(json)), json);
}

TEST(CTest, AChangeDiscardsThePlan) {
  const SynthPair pair = scene();
  Result result(size);
  Arguments arguments({pair.left_view(), pair.right_view()}, result);
  Handle matcher("block");
  const auto run = [&] { return parallax_matcher_run(matcher, &arguments.given, &arguments.map); };
  expect_code(PARALLAX_ERROR_ARGUMENT, run(), "parallax_matcher_plan()");
  plan(matcher);
  expect_ok(run());
  expect_ok(parallax_matcher_set_int(matcher, "window", 7));
  expect_code(PARALLAX_ERROR_ARGUMENT, run(), "parallax_matcher_plan()");
  plan(matcher);
  expect_ok(run());
  // A refused change leaves the plan as it is.
  expect_code(PARALLAX_ERROR_ARGUMENT, parallax_matcher_set_int(matcher, "window", 8), "window is 8");
  expect_ok(run());
}

TEST(CTest, BothMapsAreThoseOfCpp) {
  const SynthPair pair = scene();
  const StereoPair views{pair.left_view(), pair.right_view()};
  MatcherParameters parameters = preset("census", "default");
  parameters.disparities() = 16;
  Matcher of_cpp(parameters, Device::parse("cpu"), views.left.format, {.both_maps = true});
  parallax::Result expected = of_cpp.make_result(true);
  of_cpp.run(views, expected.map());
  Result left(size, 0xA5, true), right(size, 0x5A, true);
  Arguments arguments(views, left), of_right(views, right);
  arguments.map.right = &of_right.map;
  Handle matcher("census");
  expect_ok(parallax_matcher_set_int(matcher, "disparities", 16));
  expect_ok(parallax_matcher_set_device(matcher, "cpu", 2));
  plan(matcher);
  const auto run = [&] { return parallax_matcher_run(matcher, &arguments.given, &arguments.map); };
  expect_code(PARALLAX_ERROR_ARGUMENT, run(), "planned for the left map alone");
  expect_code(PARALLAX_ERROR_ARGUMENT, parallax_matcher_set_both_maps(matcher, 2), "both_maps is 2");
  expect_ok(parallax_matcher_set_both_maps(matcher, 1));
  std::uint64_t estimated = 0, held = 0;
  expect_ok(parallax_matcher_estimate_memory(matcher, size.width, size.height, PARALLAX_UINT8, &estimated));
  plan(matcher);
  expect_ok(parallax_matcher_memory(matcher, &held));
  EXPECT_EQ(estimated, held);
  EXPECT_EQ(held, of_cpp.memory_bytes());
  expect_ok(run());
  expect_same(expected, left, "left");
  expect_same(*expected.right, right, "right");
  of_right.map.right = &of_right.map;
  expect_code(PARALLAX_ERROR_ARGUMENT, run(), "the right map has a right map, too");
  of_right.map.right = nullptr;
  expect_code(PARALLAX_ERROR_ARGUMENT,
              parallax_matcher_run_in_tiles(matcher, &arguments.given, &arguments.map, 0, nullptr, nullptr),
              "tiles have no map of the right image");
  expect_ok(parallax_matcher_set_both_maps(matcher, 0));
  arguments.map.confidence = nullptr;
  expect_code(PARALLAX_ERROR_ARGUMENT,
              parallax_matcher_run_in_tiles(matcher, &arguments.given, &arguments.map, 0, nullptr, nullptr),
              "tiles have no map of the right image");
  // A program that was compiled before the member came passes a smaller struct.
  expect_ok(parallax_matcher_plan(matcher, size.width, size.height, PARALLAX_UINT8));
  arguments.map.struct_size = offsetof(parallax_map, right);
  expect_ok(run());
}

TEST(CTest, LimitsAndTunablesArePassedOn) {
  Handle matcher("census");
  expect_ok(parallax_matcher_set_memory_limit(matcher, 1000));
  expect_code(PARALLAX_ERROR_MEMORY, parallax_matcher_plan(matcher, 640, 480, PARALLAX_UINT8), "1000 bytes");
  expect_ok(parallax_matcher_set_memory_limit(matcher, 0));
  expect_ok(parallax_matcher_configure(matcher, "nonsense", "1"));
  expect_code(PARALLAX_ERROR_ARGUMENT, parallax_matcher_plan(matcher, 640, 480, PARALLAX_UINT8), "nonsense");
  expect_ok(parallax_matcher_configure(matcher, "nonsense", ""));
  expect_ok(parallax_matcher_plan(matcher, 640, 480, PARALLAX_UINT16));
  expect_code(PARALLAX_ERROR_ARGUMENT, parallax_matcher_plan(matcher, 640, 480, PARALLAX_FLOAT32),
              "PARALLAX_UINT16");
  expect_code(PARALLAX_ERROR_ARGUMENT, parallax_matcher_set_device(matcher, "tpu", 0), "tpu");
  if (!is_here(DeviceKind::cuda)) {
    expect_ok(parallax_matcher_set_device(matcher, "cuda", 0));
    expect_code(PARALLAX_ERROR_DEVICE, parallax_matcher_plan(matcher, 640, 480, PARALLAX_UINT8), "cuda");
  }
}

TEST(CTest, StructsMayBeOlderOrNewer) {
  const SynthPair pair = scene();
  Result result(size);
  Arguments arguments({pair.left_view(), pair.right_view()}, result);
  Handle matcher("block");
  plan(matcher);
  struct Newer {
    parallax_pair known;
    const void* later = nullptr;
  } newer{arguments.given};
  newer.known.struct_size = sizeof(newer);
  const auto run = [&] { return parallax_matcher_run(matcher, &newer.known, &arguments.map); };
  expect_ok(run());
  newer.later = &newer;
  expect_code(PARALLAX_ERROR_ARGUMENT, run(), "pair struct_size");
  newer.known.struct_size = sizeof(parallax_pair) - 1;
  expect_code(PARALLAX_ERROR_ARGUMENT, run(), "pair struct_size");
  newer.known.struct_size = ~std::size_t{0};
  expect_code(PARALLAX_ERROR_ARGUMENT, run(), "pair struct_size");
  newer.known.struct_size = 0;
  expect_code(PARALLAX_ERROR_ARGUMENT, run(), "pair struct_size is 0");
}

TEST(CTest, WrongImagesAreNamed) {
  const SynthPair pair = scene();
  Result result(size);
  Arguments arguments({pair.left_view(), pair.right_view()}, result);
  Handle matcher("block");
  plan(matcher);
  const auto refused = [&](auto& value, auto wrong, std::string_view part) {
    const auto right = value;
    value = wrong;
    expect_code(PARALLAX_ERROR_ARGUMENT, parallax_matcher_run(matcher, &arguments.given, &arguments.map),
                part);
    value = right;
  };
  refused(arguments.left.width, 71, "left image is 71×40");
  refused(arguments.left.type, PARALLAX_FLOAT32, "left image type is 32");
  refused(arguments.left.type, PARALLAX_UINT16, "left image has 16 bits");
  refused(arguments.right.channels, 2, "right image channels is 2");
  refused(arguments.right.data, nullptr, "right image points to no memory");
  refused(arguments.given.right, nullptr, "right image is NULL");
  refused(arguments.disparity.type, PARALLAX_UINT8, "disparity map type is 8");
  refused(arguments.disparity.stride_bytes, 289, "disparity map stride_bytes is 289");
  for (const std::int64_t stride : {INT64_MIN, INT64_MAX, INT64_MIN + 8, std::int64_t{1} << 56}) {
    refused(arguments.left.stride_bytes, stride, "stride_bytes is " + std::to_string(stride));
    refused(arguments.disparity.stride_bytes, stride, "stride_bytes is " + std::to_string(stride));
  }
  refused(arguments.disparity.stride_bytes, 0, "disparity map stride_bytes is 0");
  refused(arguments.status.stride_bytes, -71, "status map stride_bytes is -71");
  refused(arguments.disparity.height, -1, "×-1");
  refused(arguments.status.height, 39, "status map is 72×39");
  refused(arguments.status.channels, 3, "status map channels is 3");
  refused(arguments.map.status, nullptr, "status map is NULL");
  expect_ok(parallax_matcher_run(matcher, &arguments.given, &arguments.map));
}

TEST(CTest, NullIsRefusedByName) {
  const SynthPair pair = scene();
  Result result(size);
  Arguments arguments({pair.left_view(), pair.right_view()}, result);
  Handle matcher("block");
  plan(matcher);
  const char* const* names = nullptr;
  const char* text = nullptr;
  std::size_t count = 0;
  uint64_t bytes = 0;
  parallax_matcher* made = nullptr;
  const parallax_parameter* const* parameters = nullptr;
  const auto refused = [](parallax_code code, std::string_view argument) {
    expect_code(PARALLAX_ERROR_ARGUMENT, code, std::string(argument) + " is NULL");
  };
  refused(parallax_list_methods(nullptr, &count), "names");
  refused(parallax_list_methods(&names, nullptr), "count");
  refused(parallax_list_presets(nullptr, &names, &count), "method");
  refused(parallax_list_parameters(nullptr, &parameters, &count), "method");
  refused(parallax_list_parameters("bp", nullptr, &count), "parameters");
  refused(parallax_list_devices(nullptr, &count), "devices");
  refused(parallax_matcher_create(nullptr, nullptr, &made), "method");
  refused(parallax_matcher_create("bp", nullptr, nullptr), "matcher");
  refused(parallax_matcher_retain(nullptr), "matcher");
  refused(parallax_matcher_set_int(nullptr, "levels", 1), "matcher");
  refused(parallax_matcher_set_int(matcher, nullptr, 1), "name");
  refused(parallax_matcher_set_float(matcher, nullptr, 1), "name");
  refused(parallax_matcher_set_string(matcher, "window", nullptr), "value");
  refused(parallax_matcher_set_json(matcher, nullptr), "json");
  refused(parallax_matcher_get_string(matcher, nullptr, &text), "name");
  refused(parallax_matcher_get_string(matcher, "window", nullptr), "value");
  refused(parallax_matcher_get_json(matcher, nullptr), "json");
  refused(parallax_matcher_set_device(matcher, nullptr, 0), "device");
  refused(parallax_matcher_configure(matcher, nullptr, ""), "name");
  refused(parallax_matcher_plan(nullptr, 8, 8, PARALLAX_UINT8), "matcher");
  plan(matcher);
  refused(parallax_matcher_estimate_memory(matcher, 8, 8, PARALLAX_UINT8, nullptr), "bytes");
  refused(parallax_matcher_memory(nullptr, &bytes), "matcher");
  refused(parallax_matcher_memory(matcher, nullptr), "bytes");
  refused(parallax_matcher_has_confidence(matcher, nullptr), "has");
  refused(parallax_matcher_has_row_offsets(matcher, nullptr), "has");
  refused(parallax_matcher_run(matcher, nullptr, nullptr), "pair");
  refused(parallax_matcher_run(matcher, &arguments.given, nullptr), "map");
  refused(parallax_matcher_enqueue(matcher, nullptr, nullptr, nullptr), "pair");
  refused(parallax_matcher_run_in_tiles(matcher, nullptr, nullptr, 0, nullptr, nullptr), "pair");
  refused(parallax_matcher_margins(matcher, 8, 8, PARALLAX_UINT8, 0, nullptr), "margins");
  refused(parallax_matcher_set_tiles(nullptr, 1), "matcher");
  refused(parallax_matcher_refine_strip(matcher, nullptr, nullptr), "left image");
  refused(parallax_matcher_estimate_strip_memory(matcher, 8, 8, nullptr), "bytes");
  refused(parallax_matcher_stages(matcher, nullptr, &count), "stages");
  refused(parallax_matcher_rows_moved(matcher, nullptr), "rows");
  refused(parallax_matcher_forget_rows(nullptr), "matcher");
  refused(parallax_matcher_energy(matcher, nullptr, nullptr, nullptr), "pair");
  refused(parallax_evaluate(nullptr, nullptr, nullptr, nullptr), "disparity map");
  refused(parallax_read_calibration(nullptr, nullptr), "path");
  refused(parallax_depth(nullptr, nullptr, nullptr), "calibration");
  refused(parallax_points(nullptr, nullptr, nullptr, nullptr, nullptr), "calibration");
  refused(parallax_calibration_in_metres(nullptr), "calibration");
  refused(parallax_depth_uncertainty(nullptr, nullptr, 1, nullptr), "calibration");
  refused(parallax_mesh(nullptr, nullptr, nullptr, 1, nullptr, nullptr, nullptr, nullptr), "calibration");
  refused(parallax_colour(nullptr, 0, 1, nullptr), "disparity map");
  refused(parallax_read_pfm(nullptr, nullptr, nullptr, nullptr), "pixels");
  refused(parallax_write_pfm(nullptr, nullptr), "path");
  refused(parallax_read_flo(nullptr, nullptr, nullptr, nullptr), "vectors");
  refused(parallax_write_flo(nullptr, nullptr, nullptr), "path");
  refused(parallax_write_ply(nullptr, nullptr, 1), "path");
  refused(parallax_write_ply("p.ply", nullptr, 1), "points");
  refused(parallax_write_pcd(nullptr, nullptr, 1), "path");
  refused(parallax_write_pcd("p.pcd", nullptr, 1), "points");
  refused(parallax_write_mesh(nullptr, nullptr, 1, nullptr, 1), "path");
  refused(parallax_write_mesh("p.ply", nullptr, 1, nullptr, 1), "vertices");
  refused(parallax_write_mesh("p.ply", nullptr, 0, nullptr, 1), "triangles");
  refused(parallax_synthesize(nullptr, 8, 1, nullptr, nullptr, nullptr), "left");
  parallax_matcher_release(nullptr);
  parallax_free(nullptr);
}

TEST(CTest, MessagesAreThoseOfTheThread) {
  expect_code(PARALLAX_ERROR_ARGUMENT, parallax_list_presets("one", nullptr, nullptr), "one");
  std::thread([] {
    EXPECT_STREQ(parallax_error_message(), "");
    expect_code(PARALLAX_ERROR_ARGUMENT, parallax_list_presets("two", nullptr, nullptr), "two");
  }).join();
  EXPECT_TRUE(contains(parallax_error_message(), "one"));
}

// Counts tiles; returns `answer` for the second.
struct Watch {
  int32_t answer = 0;
  std::vector<int64_t> done;
  int64_t total = 0;
  parallax_matcher* matcher = nullptr;
  parallax_code code = PARALLAX_OK;
};

int32_t watch(void* user, int64_t done, int64_t total) {
  auto& watch = *static_cast<Watch*>(user);
  watch.done.push_back(done);
  watch.total = total;
  if (watch.matcher != nullptr) watch.code = parallax_matcher_set_int(watch.matcher, "levels", 2);
  return done == 2 ? watch.answer : 0;
}

class CTilesTest : public ::testing::Test {
 protected:
  CTilesTest() { limit(matcher_); }
  static void limit(parallax_matcher* matcher) {
    expect_ok(parallax_matcher_set_int(matcher, "disparities", 16));
    expect_ok(parallax_matcher_set_string(matcher, "fill", "row"));
    expect_ok(parallax_matcher_set_device(matcher, "cpu", 1));
    uint64_t bytes = 0;
    expect_ok(parallax_matcher_estimate_memory(matcher, wide.width, wide.height, PARALLAX_UINT8, &bytes));
    expect_ok(parallax_matcher_set_memory_limit(matcher, bytes / 2));
  }
  parallax_code run(parallax_progress_function progress, void* user) {
    return parallax_matcher_run_in_tiles(matcher_, &arguments_.given, &arguments_.map, 0, progress, user);
  }

  static constexpr Size wide{400, 200};
  const SynthPair pair_ = synthesize({wide, 16});
  Result result_{wide};
  Handle matcher_{"block"};
  Arguments arguments_{{pair_.left_view(), pair_.right_view()}, result_};
};

TEST_F(CTilesTest, GiveTheUntiledMapAndReportProgress) {
  Watch watched;
  watched.matcher = matcher_;
  expect_ok(run(watch, &watched));
  ASSERT_GT(watched.total, 1);
  std::vector<int64_t> all(static_cast<std::size_t>(watched.total));
  std::iota(all.begin(), all.end(), 1);
  EXPECT_EQ(watched.done, all);
  EXPECT_EQ(watched.code, PARALLAX_ERROR_ARGUMENT) << "a callback used the matcher that called it";
  BlockParameters parameters;
  parameters.disparities = 16;
  parameters.refine.fill = Fill::row;
  expect_same(match(parameters, cpu(1), {pair_.left_view(), pair_.right_view()}), result_, "tiles");
  expect_ok(run(nullptr, nullptr));
}

TEST_F(CTilesTest, EndWhenACallbackAsksForIt) {
  Watch watched;
  watched.answer = 1;
  expect_code(PARALLAX_ERROR_CANCELLED, run(watch, &watched), "cancelled");
  EXPECT_EQ(watched.done.size(), 2u);
  const auto thrower = [](void*, int64_t, int64_t) -> int32_t {
    throw std::runtime_error("from the callback");
  };
  expect_code(PARALLAX_ERROR_INTERNAL, run(thrower, nullptr), "from the callback");
  const auto odd_thrower = [](void*, int64_t, int64_t) -> int32_t { throw 7; };
  expect_code(PARALLAX_ERROR_INTERNAL, run(odd_thrower, nullptr), "unknown exception");
}

TEST(CTest, CancelEndsTheCallsThatHaveBegunAndTheMatcherRunsAgain) {
  const SynthPair pair = synthesize({{160, 120}, 16});
  const StereoPair images{pair.left_view(), pair.right_view()};
  Handle matcher("bp");
  expect_ok(parallax_matcher_set_device(matcher, "cpu", 2));
  expect_ok(parallax_matcher_plan(matcher, 160, 120, PARALLAX_UINT8));
  expect_ok(parallax_matcher_cancel(matcher));  // does nothing to calls that follow
  Result expected(pair.size());
  Arguments arguments(images, expected);
  expect_ok(parallax_matcher_run(matcher, &arguments.given, &arguments.map));
  std::atomic<int> running = 3;
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([&] {
      Result result(pair.size());
      Arguments own(images, result);
      parallax_code code = PARALLAX_OK;
      while (code == PARALLAX_OK) code = parallax_matcher_run(matcher, &own.given, &own.map);
      expect_code(PARALLAX_ERROR_CANCELLED, code, "cancelled: what it wrote is incomplete; run it again");
      --running;
    });
  while (running > 0) expect_ok(parallax_matcher_cancel(matcher));
  for (std::thread& thread : threads) thread.join();
  Result again(pair.size());
  Arguments last(images, again);
  expect_ok(parallax_matcher_run(matcher, &last.given, &last.map));
  expect_same(expected, again, "after parallax_matcher_cancel()");
  expect_code(PARALLAX_ERROR_ARGUMENT, parallax_matcher_cancel(nullptr), "matcher is NULL");
  expect_code(PARALLAX_ERROR_ARGUMENT, parallax_rectified_matcher_cancel(nullptr), "is NULL");
}

TEST(CTest, RowsOfAStreamAreForgotten) {
  const SynthPair pair = synthesize({{320, 240}, 32});
  ImageView shifted = pair.right_view();
  shifted.data = shifted.row(1);
  shifted.format.size.height = 239;
  ImageView left = pair.left_view(), right = pair.right_view();
  left.format.size.height = right.format.size.height = 239;
  Handle matcher("bp");
  expect_ok(parallax_matcher_set_string(matcher, "rows", "once"));
  expect_ok(parallax_matcher_set_int(matcher, "disparities", 32));
  expect_ok(parallax_matcher_plan(matcher, 320, 239, PARALLAX_UINT8));
  const auto moved = [&](const StereoPair& images) {
    Result result({320, 239});
    Arguments arguments(images, result);
    double rows = -1;
    expect_ok(parallax_matcher_run(matcher, &arguments.given, &arguments.map));
    expect_ok(parallax_matcher_rows_moved(matcher, &rows));
    return rows;
  };
  EXPECT_NEAR(moved({left, shifted}), 1, 0.05);
  EXPECT_NEAR(moved({left, right}), 1, 0.05);
  expect_ok(parallax_matcher_forget_rows(matcher));
  EXPECT_EQ(moved({left, right}), 0);
}

TEST(CTest, AnInterruptEndsLongCallsOfItsThread) {
  const SynthPair pair = synthesize({{640, 480}, 64});
  const StereoPair images{pair.left_view(), pair.right_view()};
  Handle matcher("bp");
  expect_ok(parallax_matcher_set_device(matcher, "cpu", 1));
  expect_ok(parallax_matcher_plan(matcher, 640, 480, PARALLAX_UINT8));
  Result result(pair.size());
  Arguments arguments(images, result);
  int asked = 0;
  const auto ask = [](void* user) -> int32_t { return ++*static_cast<int*>(user) % 2 == 0; };
  expect_ok(parallax_set_interrupt(ask, &asked));
  parallax_code code = PARALLAX_OK;
  while (code == PARALLAX_OK) code = parallax_matcher_run(matcher, &arguments.given, &arguments.map);
  expect_code(PARALLAX_ERROR_CANCELLED, code, "cancelled");
  EXPECT_EQ(asked, 2);
  std::thread([&] { expect_ok(parallax_matcher_run(matcher, &arguments.given, &arguments.map)); }).join();
  EXPECT_EQ(asked, 2) << "an interrupt is of one thread";
  expect_ok(parallax_set_interrupt(nullptr, nullptr));
  expect_ok(parallax_matcher_run(matcher, &arguments.given, &arguments.map));
  EXPECT_EQ(asked, 2);
}

TEST_F(CTilesTest, ACallbackMayReleaseItsMatcher) {
  parallax_matcher* released = nullptr;
  expect_ok(parallax_matcher_create("block", nullptr, &released));
  limit(released);
  const auto release_once = [](void* user, int64_t, int64_t) -> int32_t {
    auto& matcher = *static_cast<parallax_matcher**>(user);
    parallax_matcher_release(matcher);
    matcher = nullptr;
    return 0;
  };
  expect_ok(parallax_matcher_run_in_tiles(released, &arguments_.given, &arguments_.map, 0, release_once,
                                          &released));
  EXPECT_EQ(released, nullptr);
}

TEST(CTest, AMatchOfTilesEndsWithTheLeftRightCheckAndStripsGetTheOtherSteps) {
  const SynthPair pair = scene();
  for (const std::string method : {"block", "census", "bp"}) {
    Result untiled(size), tiles(size);
    Arguments whole({pair.left_view(), pair.right_view()}, untiled),
        tile({pair.left_view(), pair.right_view()}, tiles);
    Handle matcher(method);
    expect_ok(parallax_matcher_set_int(matcher, "disparities", 16));
    uint64_t bytes = 0, tile_bytes = 0, strip_bytes = 0;
    expect_ok(parallax_matcher_estimate_memory(matcher, size.width, size.height, PARALLAX_UINT8, &bytes));
    plan(matcher);
    expect_ok(parallax_matcher_run(matcher, &whole.given, &whole.map));
    expect_ok(parallax_matcher_set_tiles(matcher, 1));
    expect_ok(
        parallax_matcher_estimate_memory(matcher, size.width, size.height, PARALLAX_UINT8, &tile_bytes));
    expect_ok(parallax_matcher_estimate_strip_memory(matcher, size.width, size.height, &strip_bytes));
    EXPECT_LT(tile_bytes, bytes);
    EXPECT_GT(strip_bytes, 0u);
    plan(matcher);
    tile.map.confidence = nullptr;
    expect_ok(parallax_matcher_run(matcher, &tile.given, &tile.map));
    EXPECT_FALSE(same_bytes(untiled, tiles)) << method;
    expect_ok(parallax_matcher_refine_strip(matcher, &tile.left, &tile.map));
    expect_same(untiled, tiles, method);
    expect_ok(parallax_matcher_set_tiles(matcher, 0));
    plan(matcher);
    expect_ok(parallax_matcher_run(matcher, &tile.given, &tile.map));
    expect_same(untiled, tiles, method);
  }
}

TEST(CTest, MarginsAreThoseOfCpp) {
  Handle matcher("bp");
  parallax_margins given = PARALLAX_MARGINS_INIT;
  for (const int padding : {0, 17}) {
    expect_ok(parallax_matcher_margins(matcher, 300, 200, PARALLAX_UINT16, padding, &given));
    const MatcherParameters parameters = preset("bp", "default");
    const Margins expected = margins(parameters, {{300, 200}, BitDepth::bits16}, padding == 0 ? 80 : padding);
    EXPECT_EQ(given.left, expected.left);
    EXPECT_EQ(given.right, expected.right);
    EXPECT_EQ(given.top, expected.top);
    EXPECT_EQ(given.bottom, expected.bottom);
    EXPECT_EQ(given.alignment, expected.alignment);
    EXPECT_EQ(given.exact, 0);
    EXPECT_EQ(given.halo, halo(parameters).rows);
    EXPECT_EQ(given.halo_alignment, halo(parameters).alignment);
  }
  expect_code(PARALLAX_ERROR_ARGUMENT,
              parallax_matcher_margins(matcher, 300, 200, PARALLAX_UINT16, -1, &given), "padding is -1");
  expect_code(PARALLAX_ERROR_ARGUMENT, parallax_matcher_set_tiles(matcher, 2), "tiles is 2");
}

TEST(CTest, ThreadsShareAMatcher) {
  const SynthPair pair = scene();
  const StereoPair views{pair.left_view(), pair.right_view()};
  BlockParameters parameters;
  const Result expected = match(parameters, cpu(1), views);
  Handle matcher("block");
  plan(matcher);
  std::deque<Result> results;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    Result& result = results.emplace_back(size);
    threads.emplace_back([&] {
      expect_ok(parallax_matcher_retain(matcher));
      Arguments arguments(views, result);
      for (int i = 0; i < 20; ++i) expect_ok(parallax_matcher_run(matcher, &arguments.given, &arguments.map));
      parallax_matcher_release(matcher);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Result& result : results) expect_same(expected, result, "shared");
}

TEST(CTest, MapsAreEvaluatedAndConverted) {
  const SynthPair pair = scene();
  const Size wide{3 * size.width, size.height};
  Plane<std::uint8_t> left(wide), right(wide), colours(wide);
  Plane<float> truth(size), depths(size);
  parallax_output left_out = output_of(left, 3), right_out = output_of(right, 3),
                  truth_out = output_of(truth);
  expect_ok(parallax_synthesize("layers", 16, 1, &left_out, &right_out, &truth_out));
  EXPECT_TRUE(same_bytes(left, pair.left) && same_bytes(right, pair.right) &&
              same_bytes(truth, pair.left_truth));
  left_out.width = 8;
  expect_code(PARALLAX_ERROR_ARGUMENT,
              parallax_synthesize("layers", 16, 1, &left_out, &right_out, &truth_out), "sizes");

  truth.at(3, 3) += 1.5f;
  const parallax_image disparity = image_of(truth), expected = image_of(pair.left_truth);
  parallax_metrics metrics = PARALLAX_METRICS_INIT;
  expect_ok(parallax_evaluate(&disparity, &expected, nullptr, &metrics));
  const ErrorMetrics error = evaluate(truth.view(), pair.left_truth.view());
  EXPECT_EQ(metrics.count, size.pixels());
  EXPECT_EQ(metrics.bad1, error.bad1);
  EXPECT_EQ(metrics.rms, error.rms);
  EXPECT_EQ(metrics.mismatches, error.mismatches);
  EXPECT_GT(metrics.bad1, 0);

  const parallax_calibration calibration{sizeof(parallax_calibration), 100, 36, 20, 1, 0.1, 0, 0, 0, 0};
  const parallax_output depth = output_of(depths), colour_out = output_of(colours, 3);
  expect_ok(parallax_depth(&calibration, &disparity, &depth));
  EXPECT_EQ(depths.at(3, 3), static_cast<float>(100 * 0.1 / (static_cast<double>(truth.at(3, 3)) + 1)));
  std::vector<parallax_point> points(size.pixels());
  std::size_t count = 0;
  const parallax_image image = image_of(pair.left_view());
  expect_ok(parallax_points(&calibration, &disparity, &image, points.data(), &count));
  const std::vector<Point> cloud = point_cloud({100, 36, 20, 1, 0.1}, truth.view(), pair.left_view());
  ASSERT_EQ(count, cloud.size());
  EXPECT_EQ(points[100].z, cloud[100].z);
  EXPECT_EQ(points[100].green, cloud[100].colour[1]);
  expect_ok(parallax_colour(&disparity, 0, 15, &colour_out));
  Plane<std::uint8_t> rgb(wide);
  colour(truth.view(), 0, 15, rgb.view());
  EXPECT_TRUE(same_bytes(colours, rgb));

  const std::string path = ::testing::TempDir() + "parallax_c_test.pfm";
  expect_ok(parallax_write_pfm(path.c_str(), &disparity));
  float* pixels = nullptr;
  int32_t width = 0, height = 0;
  expect_ok(parallax_read_pfm(path.c_str(), &pixels, &width, &height));
  ASSERT_EQ((Size{width, height}), size);
  EXPECT_EQ(pixels[3 * size.width + 3], truth.at(3, 3));
  parallax_free(pixels);
  expect_code(PARALLAX_ERROR_FILE, parallax_read_pfm("/nowhere.pfm", &pixels, &width, &height),
              "/nowhere.pfm");
  expect_code(PARALLAX_ERROR_FILE, parallax_write_ply("/nowhere/p.ply", points.data(), count),
              "/nowhere/p.ply");
  std::filesystem::remove(path);
}

TEST(CTest, MotionsAreWrittenAndRead) {
  const std::string path = ::testing::TempDir() + "parallax_c_test.flo";
  constexpr float none = std::numeric_limits<float>::infinity();
  const auto u = plane<float>({{1, -2, 0.5f}, {4, none, 6}}), v = plane<float>({{7, 8, 9}, {10, 11, 12}});
  const auto narrow = plane<float>({{1, 2}, {3, 4}});
  const parallax_image u_image = image_of(u), v_image = image_of(v), narrow_image = image_of(narrow);
  expect_ok(parallax_write_flo(path.c_str(), &u_image, &v_image));
  float* vectors = nullptr;
  int32_t width = 0, height = 0;
  expect_ok(parallax_read_flo(path.c_str(), &vectors, &width, &height));
  EXPECT_TRUE(width == 3 && height == 2);
  const float expected[] = {1, 7, -2, 8, 0.5f, 9, 4, 10, none, none, 6, 12};
  EXPECT_EQ(std::memcmp(vectors, expected, sizeof expected), 0);
  parallax_free(vectors);
  expect_code(PARALLAX_ERROR_ARGUMENT, parallax_write_flo(path.c_str(), &u_image, &narrow_image),
              "motion (v)");
  expect_code(PARALLAX_ERROR_FILE, parallax_read_flo("/nowhere.flo", &vectors, &width, &height),
              "/nowhere.flo");
  std::filesystem::remove(path);
}

TEST(CTest, CalibrationsHaveAUnit) {
  const std::string path = ::testing::TempDir() + "parallax_c_calib.txt";
  const std::string file = "cam0=[100 0 3; 0 100 2; 0 0 1]\nbaseline=50\n";
  write_file(path, std::as_bytes(std::span(file)));
  parallax_calibration calibration = PARALLAX_CALIBRATION_INIT;
  expect_ok(parallax_read_calibration(path.c_str(), &calibration));
  EXPECT_EQ(calibration.metres_per_unit, 0.001);
  expect_ok(parallax_calibration_in_metres(&calibration));
  EXPECT_EQ(calibration.baseline, 0.05);
  EXPECT_EQ(calibration.metres_per_unit, 1);
  calibration.metres_per_unit = -1;
  expect_code(PARALLAX_ERROR_ARGUMENT, parallax_calibration_in_metres(&calibration), "metres_per_unit is -1");

  // A program built for the first version does not know the unit.
  calibration.struct_size = offsetof(parallax_calibration, metres_per_unit);
  expect_ok(parallax_read_calibration(path.c_str(), &calibration));
  EXPECT_EQ(calibration.baseline, 50);
  EXPECT_EQ(calibration.metres_per_unit, -1);
  expect_ok(parallax_calibration_in_metres(&calibration));
  EXPECT_EQ(calibration.baseline, 50);
  std::filesystem::remove(path);
}

TEST(CTest, UncertaintiesAndMeshesAreThoseOfCpp) {
  const SynthPair pair = scene();
  const Calibration rig{100, 36, 20, 1, 0.1};
  const parallax_calibration calibration{sizeof(parallax_calibration), 100, 36, 20, 1, 0.1, 0, 0, 0, 0};
  const parallax_image disparity = image_of(pair.left_truth), left = image_of(pair.left_view());
  Plane<float> uncertainty(size), expected(size);
  const parallax_output output = output_of(uncertainty);
  expect_ok(parallax_depth_uncertainty(&calibration, &disparity, 0.5, &output));
  depth_uncertainty_map(rig, pair.left_truth.view(), 0.5, expected.view());
  EXPECT_TRUE(same_bytes(uncertainty, expected));

  const Mesh surface = mesh(rig, pair.left_truth.view(), pair.left_view(), {{}, 0.5});
  std::vector<parallax_point> vertices(size.pixels());
  std::vector<std::uint32_t> triangles(6 * size.pixels());
  std::size_t vertex_count = 0, triangle_count = 0;
  expect_ok(parallax_mesh(&calibration, &disparity, &left, 0.5, vertices.data(), &vertex_count,
                          triangles.data(), &triangle_count));
  ASSERT_EQ(vertex_count, surface.vertices.size());
  ASSERT_EQ(triangle_count, surface.triangles.size());
  ASSERT_GT(triangle_count, size.pixels());
  EXPECT_EQ(std::memcmp(triangles.data(), surface.triangles.data(), 12 * triangle_count), 0);
  const std::string path = ::testing::TempDir() + "parallax_c_mesh";
  expect_ok(
      parallax_write_mesh(path.c_str(), vertices.data(), vertex_count, triangles.data(), triangle_count));
  EXPECT_TRUE(read_file(path) == encode_mesh(surface));
  expect_ok(parallax_write_pcd(path.c_str(), vertices.data(), vertex_count));
  EXPECT_TRUE(read_file(path) == encode_pcd(surface.vertices));
  expect_code(PARALLAX_ERROR_ARGUMENT,
              parallax_write_mesh(path.c_str(), vertices.data(), 1, triangles.data(), triangle_count),
              "of 1: give indices");
  std::filesystem::remove(path);
}

TEST(CTest, EnergyIsThatOfCpp) {
  const SynthPair pair = scene();
  const StereoPair views{pair.left_view(), pair.right_view()};
  MatcherParameters parameters = preset("bp", "default");
  parameters.disparities() = 16;
  Handle matcher("bp");
  expect_ok(parallax_matcher_set_int(matcher, "disparities", 16));
  Result unused(size);
  Arguments arguments(views, unused);
  const parallax_image truth = image_of(pair.left_truth);
  double value = 0;
  expect_ok(parallax_matcher_energy(matcher, &arguments.given, &truth, &value));
  EXPECT_EQ(value, energy(parameters, views, pair.left_truth.view()));
  Handle block("block");
  expect_code(PARALLAX_ERROR_ARGUMENT, parallax_matcher_energy(block, &arguments.given, &truth, &value),
              "block");
}

TEST(CTest, TheVersionIsThatOfTheHeader) {
  EXPECT_EQ(parallax_interface(), PARALLAX_INTERFACE);
  EXPECT_EQ(std::string(parallax_version()).find("0.2."), 0u);
}

}  // namespace
}  // namespace parallax::test
