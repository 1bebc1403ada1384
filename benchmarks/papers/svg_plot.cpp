// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/papers/svg_plot.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iomanip>
#include <sstream>

namespace parallax::tool {
namespace {

// Sizes in pixels. `letter` is an upper estimate of the average width of a letter.
constexpr double letter = 7.2, margin = 16, scale_width = 420, value_room = 64, bar_height = 11, bar_gap = 2,
                 step_height = 26, pair_height = 2 * bar_height + bar_gap + 6, legend_height = 82,
                 ticks_height = 30;

constexpr const char* style = R"(<style>
.page{fill:#ffffff}.text{fill:#222222}.faint{fill:#555555}.line{stroke:#dddddd}.one{stroke:#777777}
.here{fill:#2b6cb0}.published{fill:#c9812b}.title{font-size:14px;font-weight:bold}.name{text-anchor:end}
.step{font-weight:bold;paint-order:stroke;stroke:#ffffff;stroke-width:5px}
.tick{text-anchor:middle}.value{font-size:11px}
@media(prefers-color-scheme:dark){.page{fill:#14181d}.text{fill:#e6e6e6}.faint{fill:#aaaaaa}
.line{stroke:#333a42}.one{stroke:#99a0a8}.step{stroke:#14181d}.here{fill:#63a4e8}.published{fill:#e0a458}}
</style>
)";

std::string formatted(const char* format, double value) {
  char text[32];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) result += c == '&' ? "&amp;" : c == '<' ? "&lt;" : std::string(1, c);
  return result;
}

// Continuation bytes of a character take no room.
double text_width(const std::string& text) {
  const auto begins = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; };
  return letter * static_cast<double>(std::count_if(text.begin(), text.end(), begins));
}

class Drawing {
 public:
  std::string draw(const SpeedUpChart& chart) {
    svg_ << std::fixed << std::setprecision(1);
    measure(chart);
    begin(chart);
    scale();
    double y = legend_height;
    for (const SpeedUpStep& step : chart.steps) {
      label(margin, y + 17, "step text", step.name);
      y += step_height;
      for (const SpeedUpBars& bars : step.bars) {
        label(left_ - 8, y + bar_height + 6, "name faint", bars.name);
        bar(bars.here, y, "here");
        bar(bars.published, y + bar_height + bar_gap, "published");
        y += pair_height;
      }
    }
    svg_ << "</svg>\n";
    return svg_.str();
  }

 private:
  double x(double value) const {
    return left_ + scale_width * std::log(value / lowest_) / std::log(highest_ / lowest_);
  }

  void measure(const SpeedUpChart& chart) {
    width_ = std::max(text_width(chart.title) * 1.25, text_width(chart.subtitle));
    double names = 0;
    for (const SpeedUpStep& step : chart.steps) {
      width_ = std::max(width_, text_width(step.name) * 1.1);
      height_ += step_height + static_cast<double>(step.bars.size()) * pair_height;
      for (const SpeedUpBars& bars : step.bars) {
        names = std::max(names, text_width(bars.name));
        for (const double value : {bars.here.value_or(1), bars.published.value_or(1)}) {
          lowest_ = std::min(lowest_, value);
          highest_ = std::max(highest_, value);
        }
      }
    }
    left_ = margin + names + 10;
    width_ = std::max(left_ + scale_width + value_room + margin, width_ + 2 * margin);
  }

  void begin(const SpeedUpChart& chart) {
    svg_ << "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " << width_ << " " << height_
         << "\" width=\"" << width_ << "\" height=\"" << height_
         << "\" font-family=\"DejaVu Sans, Helvetica, Arial, sans-serif\" font-size=\"12\">\n"
         << style << "<rect class=\"page\" width=\"" << width_ << "\" height=\"" << height_ << "\"/>\n";
    label(margin, 24, "title text", chart.title);
    label(margin, 42, "faint", chart.subtitle);
    rectangle(margin, 56, 10, 10, "here");
    label(margin + 16, 65, "text", "here");
    rectangle(margin + 70, 56, 10, 10, "published");
    label(margin + 86, 65, "text", "the paper");
  }

  // Grid lines at 1, 2 and 5 times powers of ten, with numbers where there is room.
  void scale() {
    double last = -1e9;
    const double bottom = height_ - ticks_height;
    for (double power = 0.001; power < 1e6; power *= 10) {
      for (const double digit : {1.0, 2.0, 5.0}) {
        const double value = digit * power;
        if (value < lowest_ * 0.999 || value > highest_ * 1.001) continue;
        svg_ << "<path d=\"M" << x(value) << " " << legend_height - 4 << "V" << bottom << "\" class=\""
             << (std::abs(value - 1) < 1e-6 ? "one" : "line") << "\"/>\n";
        if (x(value) - last < 30) continue;
        label(x(value), bottom + 16, "tick faint", formatted("%g", value));
        last = x(value);
      }
    }
  }

  void bar(const std::optional<double>& value, double y, const char* series) {
    if (!value) return;
    const double from = std::min(x(1), x(*value)), to = std::max(x(1), x(*value));
    rectangle(from, y, std::max(to - from, 1.0), bar_height, series);
    // Three significant digits.
    const char* format = *value >= 99.95 ? "%.0f×" : *value >= 9.995 ? "%.1f×" : "%.2f×";
    label(to + 5, y + bar_height - 1, "text value", formatted(format, *value));
  }

  void rectangle(double left, double top, double width, double height, const char* classes) {
    svg_ << "<rect x=\"" << left << "\" y=\"" << top << "\" width=\"" << width << "\" height=\"" << height
         << "\" class=\"" << classes << "\"/>\n";
  }

  void label(double left, double base, const char* classes, const std::string& text) {
    svg_ << "<text x=\"" << left << "\" y=\"" << base << "\" class=\"" << classes << "\">" << escaped(text)
         << "</text>\n";
  }

  std::ostringstream svg_;
  double lowest_ = 1, highest_ = 2;
  double left_ = 0, width_ = 0, height_ = legend_height + ticks_height;
};

}  // namespace

std::string draw_svg(const SpeedUpChart& chart) {
  return Drawing().draw(chart);
}

}  // namespace parallax::tool
