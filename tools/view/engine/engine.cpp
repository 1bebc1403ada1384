// SPDX-License-Identifier: Apache-2.0
// The viewer within its page: a scene of files in memory, and one page, which asks and works by turns.
#include <memory>
#include <optional>
#include <string>

#include <emscripten.h>

#include "parallax/formats.h"
#include "parallax/synth.h"
#include "parallax/version.h"

#include "tools/command/json.h"
#include "tools/command/output_files.h"
#include "tools/view/page_routes.h"
#include "tools/view/settings.h"

namespace parallax::view {
namespace {

using Json = nlohmann::ordered_json;

// At once, in the middle of a match: the page shows that it began.
EM_JS(void, tell_page, (), { Module["onMessage"](); });

// What JavaScript reads.
struct Answer {
  int status;
  const char* type;
  const char* content;
  std::size_t bytes;
};

// The page uses the scene.
struct Viewer {
  std::unique_ptr<Scene> scene;
  std::unique_ptr<PageRoutes> routes;
  std::unique_ptr<Page> page;
};

Viewer viewer;
Response response;
Answer answer_of_response;
std::shared_ptr<const std::string> message;

const Answer* answered() {
  answer_of_response = {response.status, response.type.c_str(), response.content.data(),
                        response.content.size()};
  return &answer_of_response;
}

std::vector<std::string> files_at(const Json& json, const char* name) {
  return json.value(name, std::vector<std::string>());
}

// As asked, or as the files say; side by side where nobody says it.
std::optional<tool::Layout> layout_of(const std::string& asked, const tool::Input& input) {
  using enum tool::Layout;
  for (const tool::Layout layout : {side_by_side, right_left, top_bottom, bottom_top})
    if (asked == tool::name(layout)) return layout;
  if (tool::states_layout(input)) return std::nullopt;
  return side_by_side;
}

SceneRequest scene_request(const Json& json) {
  SceneRequest request;
  tool::Input& input = request.match.input;
  input.left = json.at("left");
  input.right = json.value("right", "");
  input.calibration = files_at(json, "calibration");
  input.rig = files_at(json, "rig");
  if (input.right.empty()) input.layout = layout_of(json.value("layout", ""), input);
  request.truth.path = json.value("truth", "");
  request.max_threads = json.at("threads");
  tool::Search& search = request.match.search;
  search.parameters = preset(search.method, search.preset);
  search.device = "cpu";
  search.threads = request.max_threads;
  return request;
}

// A scene that cannot be opened leaves the one before.
void open_scene(const Json& json) {
  auto scene = std::make_unique<Scene>(scene_request(json));
  auto routes = std::make_unique<PageRoutes>(*scene);
  auto page = std::make_unique<Page>(*scene, Page::Worker::caller, tell_page);
  Json state = describe_scene(*scene);
  // All that there are, whatever their number.
  state["start"]["threads"] = 0;
  std::string text = tool::json_text(state);
  viewer.page = std::move(page);
  viewer.routes = std::move(routes);
  viewer.scene = std::move(scene);
  answer(response, std::move(text), "application/json");
}

void ask(const Json& json) {
  const std::string method = json.at("method"), what = json.at("what");
  Request request{.method = method, .path = what, .body = json.value("body", "")};
  for (const auto& [name, value] : json.at("parameters").items()) request.parameters[name] = value;
  const PageRoutes::Handler* const handler = viewer.page ? viewer.routes->find(method, what) : nullptr;
  if (handler == nullptr) return refuse(response, 404, "there is nothing here");
  (*handler)(*viewer.page, request, response);
}

// Compressing a picture that is read at once would only take time.
void write_ppm(const std::string& path, const Plane<std::uint8_t>& colours) {
  std::string file =
      "P6\n" + std::to_string(colours.width() / 3) + " " + std::to_string(colours.height()) + "\n255\n";
  for (int y = 0; y < colours.height(); ++y)
    file.append(reinterpret_cast<const char*>(colours.row(y)), static_cast<std::size_t>(colours.width()));
  tool::write_output(path, file);
}

// Writes left.ppm, right.ppm, truth.pfm and calib.txt.
void synthesize_files(const Json& json) {
  SynthParameters parameters;
  parameters.scene = parse_scene(json.at("scene").get<std::string>());
  parameters.size = {json.at("width"), json.at("height")};
  parameters.disparities = json.at("disparities");
  parameters.seed = json.at("seed");
  const SynthPair pair = synthesize(parameters);
  const std::string folder = json.at("folder");
  write_ppm(folder + "/left.ppm", pair.left);
  write_ppm(folder + "/right.ppm", pair.right);
  tool::write_output(folder + "/truth.pfm", encode_pfm(pair.left_truth.view()));
  tool::write_output(folder + "/calib.txt", encode_middlebury_calibration(pair.calibration));
  answer(response, "{}", "application/json");
}

// Answers with what `body` makes of the JSON, or with its error.
template <class Body>
const Answer* run(const char* text, const Body& body) {
  response = {};
  answer_errors(response, [&] { body(Json::parse(text)); });
  return answered();
}

}  // namespace
}  // namespace parallax::view

using namespace parallax::view;

extern "C" {

// Answers with what the page may know of the scene.
EMSCRIPTEN_KEEPALIVE const Answer* viewer_open(const char* json) {
  return run(json, open_scene);
}

// A request of the protocol: {"method", "what", "parameters", "body"}.
EMSCRIPTEN_KEEPALIVE const Answer* viewer_ask(const char* json) {
  return run(json, ask);
}

EMSCRIPTEN_KEEPALIVE const Answer* viewer_synthesize(const char* json) {
  return run(json, synthesize_files);
}

// The number of the frame that viewer_work() is going to read; −1 if it reads none.
EMSCRIPTEN_KEEPALIVE int viewer_wanted_frame() {
  if (!viewer.page) return -1;
  const auto frame = viewer.page->wanted_frame();
  return frame ? static_cast<int>(*frame) : -1;
}

// Reads a frame or matches; 0 if there was nothing to do.
EMSCRIPTEN_KEEPALIVE int viewer_work() {
  return viewer.page && viewer.page->work_once() ? 1 : 0;
}

// The next message of the stream; null if there is none.
EMSCRIPTEN_KEEPALIVE const Answer* viewer_message() {
  message = viewer.page ? viewer.page->next_message(std::chrono::milliseconds(0)) : nullptr;
  if (!message) return nullptr;
  answer_of_response = {200, "", message->data(), message->size()};
  return &answer_of_response;
}

}  // extern "C"
