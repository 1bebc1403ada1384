// SPDX-License-Identifier: Apache-2.0
#include "core/search_reach.h"
#include "refine/refine.h"
#include "toy/toy.h"

namespace parallax {
namespace toy {
namespace {

using detail::Fields;

Fields fields(ToyParameters& p) {
  Fields fields;
  detail::add_range_fields(fields, p.min_disparity, p.disparities, 1, 1024);
  fields.group(detail::matching_group)
      .add("truncation", p.truncation, detail::range(1, 65535),
           {"Largest difference that counts", "gray levels"});
  refine::add_fields(fields, p.refine);
  return fields;
}

Margins margins(const ToyParameters& p, const ImageFormat& format, int) {
  const SearchReach reach = search_reach(p.min_disparity, p.min_disparity + p.disparities - 1,
                                         format.size.width, p.refine.left_right_check);
  return {.left = reach.left, .right = reach.right};
}

ToyParameters bare() {
  ToyParameters parameters;
  parameters.refine = RefineParameters::none();
  return parameters;
}

}  // namespace

std::unique_ptr<detail::Method> method() {
  using enum DeviceKind;
  using On = detail::Backends<ToyParameters>;
  return detail::declare<ToyParameters>(
      {.name = "toy",
       .presets = {{"default", [] { return ToyParameters{}; }}, {"bare", bare}},
       .fields = fields,
       .margins = margins,
       .backends = {On::backend<reference, make_reference>(), On::tuned<cpu, make_cpu, cpu_tuning_space>()}});
}

}  // namespace toy

void ToyParameters::validate() const {
  ToyParameters copy = *this;
  toy::fields(copy).check();
}

}  // namespace parallax
