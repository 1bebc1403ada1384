// SPDX-License-Identifier: Apache-2.0
#include "execution/scripted.h"

#include "refine/refine.h"

namespace parallax {
namespace {

detail::Fields fields(ScriptedParameters& p) {
  detail::Fields fields;
  detail::add_range_fields(fields, p.min_disparity, p.disparities, 1, 1024);
  fields.group(detail::matching_group).add("added", p.added, detail::range(0, 1000), {"Added", ""});
  refine::add_fields(fields, p.refine);
  return fields;
}

Margins margins(const ScriptedParameters&, const ImageFormat&, int) {
  return {};
}

void call(const std::function<void(const Device&, const ImageFormat&)>& step, const Device& device,
          const ImageFormat& format) {
  if (step) step(device, format);
}

class ScriptedPlan final : public detail::Plan {
 public:
  ScriptedPlan(const ScriptedParameters& parameters, const Device& device, const ImageFormat& format)
      : parameters_(parameters), device_(device), format_(format) {
    call(test::script.on_plan, device, format);
  }
  ~ScriptedPlan() override {
    if (is_allocated_) call(test::script.on_release, device_, format_);
  }
  std::size_t memory_bytes() const override { return test::script.bytes ? test::script.bytes(format_) : 1; }
  void allocate() override {
    call(test::script.on_allocate, device_, format_);
    is_allocated_ = true;
  }
  void run(const StereoPair& pair, const DisparityMap& map) override {
    detail::StageClock clock(stage_times);
    call(test::script.on_run, device_, format_);
    for (int y = 0; y < format_.size.height; ++y)
      for (int x = 0; x < format_.size.width; ++x) {
        const auto gray = static_cast<const std::uint8_t*>(pair.left.row(y))[x];
        map.disparity.at(x, y) = static_cast<float>(gray + parameters_.added);
        map.status.at(x, y) = 0;
      }
    clock.finish("match");
  }

 private:
  ScriptedParameters parameters_;
  Device device_;
  ImageFormat format_;
  bool is_allocated_ = false;
};

std::unique_ptr<detail::Plan> make(const ScriptedParameters& parameters, const Device& device,
                                   const ImageFormat& format) {
  return std::make_unique<ScriptedPlan>(parameters, device, format);
}

ScriptedParameters usual() {
  return {};
}

}  // namespace

void ScriptedParameters::validate() const {
  ScriptedParameters copy = *this;
  fields(copy).check();
}

void test::register_scripted() {
  using On = detail::Backends<ScriptedParameters>;
  detail::methods().push_back(detail::declare<ScriptedParameters>(
      {.name = "scripted",
       .presets = {{"default", usual}},
       .fields = fields,
       .margins = margins,
       .backends = {On::backend<DeviceKind::reference, make>(), On::backend<DeviceKind::cpu, make>(),
                    On::backend<DeviceKind::cuda, make>()}}));
}

}  // namespace parallax
