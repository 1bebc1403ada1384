// SPDX-License-Identifier: Apache-2.0
// The fields of data costs in the parameters of the matchers that share them.
#pragma once

#include "parallax/data_cost.h"
#include "parallax/rows.h"

#include "core/checks.h"
#include "core/fields.h"
#include "data_cost/data_cost.h"

namespace parallax::data_cost {

// `costs`: the data costs that the matcher has; `unit`: unit of the costs.
template <class Parameters>
void add_cost_fields(detail::Fields& fields, Parameters& p, detail::Names<DataCost> costs, const char* unit,
                     double highest_outside) {
  fields.add("cost", p.cost, costs, {"Data cost"})
      .add("data_weight", p.data_weight, detail::range(1e-6f, 1000),
           {"Cost per gray level, or bit, of difference", unit})
      .add("data_truncation", p.data_truncation, detail::range(0, 256),
           {"Limit to which differences are truncated, in gray levels or bits; 0 = no limit",
            "gray levels or bits"})
      .add(
          "census_tolerance", p.census_tolerance, detail::range(0, max_census_tolerance),
          {"Gray levels by which neighbours must be darker, or brighter, to count in two thirds of a census; "
           "0 = darker by any number, in all of it",
           "gray levels"})
      .add("outside_cost", p.outside_cost, detail::range(0, highest_outside),
           {"Data cost of a label that points outside the right image; none = no data cost for its pixel",
            unit, detail::Audience::experts})
      .add("smoothing", p.smoothing, detail::range(0, 30),
           {"Sigma in pixels of the Gaussian blur of both images; 0 = none", "pixels"});
}

inline void add_rows_field(detail::Fields& fields, ComparedRows& rows) {
  fields.add(
      "rows", rows,
      {{"given", ComparedRows::given}, {"auto", ComparedRows::automatic}, {"once", ComparedRows::once}},
      {"Rows that are compared: as given, or aligned automatically, by fractions of a row that corners "
       "of both images show, if that is not negligible; once = by what the first pair of a matcher shows"});
}

// \throws Error (argument) unless rows are as given; `instead` is what to choose
inline void check_rows_given(ComparedRows rows, const char* instead) {
  if (rows != ComparedRows::given) refuse("rows", rows == ComparedRows::once ? "once" : "auto", instead);
}

// Adds row_tolerance: matches are searched in as many rows above and below.
inline void add_row_tolerance_field(detail::Fields& fields, int& row_tolerance) {
  fields.add("row_tolerance", row_tolerance, detail::range(0, max_row_tolerance),
             {"Rows above and below in which matches are searched, too: for pairs whose rows do not line up",
              "rows"});
}

// Adds row_prior. Each matcher says what a row away from the surface costs at strength 1.
inline void add_row_prior_field(detail::Fields& fields, float& row_prior) {
  fields.add("row_prior", row_prior, detail::range(0, 1000),
             {"Strength of the surface of row offsets fitted to the whole pair: 1 = as measured best, 2 = "
              "twice as strong; 0 = no surface",
              "", detail::Audience::experts});
}

// \throws Error (argument) for parameters that exclude row_tolerance
template <class Parameters>
void check_row_tolerance(const Parameters& p) {
  if (p.row_tolerance == 0) return;
  check_rows_given(p.rows, "given with row_tolerance, which finds other row offsets");
  if (p.refine.refit > 0)
    refuse("refit", p.refine.refit, "0 with row_tolerance: fractions are fitted in one row");
}

// \throws Error (argument) for parameters that need rows of the images with a volume of data costs
template <class Parameters>
void check_rows_of_volume(const Parameters& p) {
  if (p.cost != DataCost::volume) return;
  check_rows_given(p.rows, "given, or another cost than volume, which the caller has computed");
  if constexpr (requires { p.row_tolerance; })
    if (p.row_tolerance > 0)
      refuse("row_tolerance", p.row_tolerance, "0 with cost volume, which has no rows but the pixel's own");
}

}  // namespace parallax::data_cost
