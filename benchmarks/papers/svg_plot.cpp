// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/papers/svg_plot.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace parallax::tool {
namespace {

// Sizes in pixels. `letter` is an upper estimate of the average width of a letter.
constexpr double letter = 7.2, margin = 16, scale_width = 420, value_room = 64, bar_height = 11, bar_gap = 2,
                 step_height = 26, pair_gap = 6, legend_height = 82, ticks_height = 30;

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", value);
  return text;
}

// Three significant digits.
std::string speed(double value) {
  char text[32];
  const int decimals = value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  std::snprintf(text, sizeof text, "%.*f×", decimals, value);
  return text;
}

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '&')
      result += "&amp;";
    else if (c == '<')
      result += "&lt;";
    else
      result += c;
  }
  return result;
}

double text_width(const std::string& text) {
  const auto continues = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; };
  return letter * static_cast<double>(text.size() - static_cast<std::size_t>(
                                                        std::count_if(text.begin(), text.end(), continues)));
}

std::string label(double x, double y, const char* classes, const std::string& text) {
  return "<text x=\"" + number(x) + "\" y=\"" + number(y) + "\" class=\"" + classes + "\">" + escaped(text) +
         "</text>\n";
}

class Drawing {
 public:
  explicit Drawing(const SpeedUpChart& chart) : chart_(chart) {
    double names = 0;
    for (const SpeedUpStep& step : chart.steps) {
      for (const SpeedUpBars& bars : step.bars) {
        names = std::max(names, text_width(bars.name));
        for (const auto& value : {bars.here, bars.published}) {
          if (!value) continue;
          lowest_ = std::min(lowest_, *value);
          highest_ = std::max(highest_, *value);
        }
      }
    }
    left_ = margin + names + 10;
    width_ = left_ + scale_width + value_room + margin;
    const auto make_room = [&](const std::string& text, double size) {
      width_ = std::max(width_, text_width(text) * size + 2 * margin);
    };
    make_room(chart.title, 1.25);
    make_room(chart.subtitle, 1);
    for (const SpeedUpStep& step : chart.steps) make_room(step.name, 1.1);
    height_ = legend_height + ticks_height;
    for (const SpeedUpStep& step : chart.steps)
      height_ += step_height + static_cast<double>(step.bars.size()) * pair_height;
  }

  std::string draw() const { return head() + scale() + steps() + "</svg>\n"; }

 private:
  static constexpr double pair_height = 2 * bar_height + bar_gap + pair_gap;

  double x(double value) const {
    return left_ + scale_width * std::log(value / lowest_) / std::log(highest_ / lowest_);
  }

  std::string head() const {
    const std::string size = "width=\"" + number(width_) + "\" height=\"" + number(height_) + "\"";
    return "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " + number(width_) + " " +
           number(height_) + "\" " + size +
           " font-family=\"DejaVu Sans, Helvetica, Arial, sans-serif\" font-size=\"12\">\n"
           "<style>\n"
           ".page{fill:#ffffff}.text{fill:#222222}.faint{fill:#555555}.line{stroke:#dddddd}"
           ".one{stroke:#777777}.here{fill:#2b6cb0}.published{fill:#c9812b}\n"
           ".title{font-size:14px;font-weight:bold}.step{font-weight:bold;paint-order:stroke;stroke:#ffffff;"
           "stroke-width:5px}.name{text-anchor:end}"
           ".tick{text-anchor:middle}.value{font-size:11px}\n"
           "@media(prefers-color-scheme:dark){.page{fill:#14181d}.text{fill:#e6e6e6}.faint{fill:#aaaaaa}"
           ".line{stroke:#333a42}.one{stroke:#99a0a8}.step{stroke:#14181d}.here{fill:#63a4e8}.published{fill:"
           "#e0a458}}\n"
           "</style>\n<rect class=\"page\" " +
           size + "/>\n" + label(margin, 24, "title text", chart_.title) +
           label(margin, 42, "faint", chart_.subtitle) + legend();
  }

  static std::string legend() {
    const auto box = [](double left, const char* series) {
      return "<rect x=\"" + number(left) + "\" y=\"56\" width=\"10\" height=\"10\" class=\"" + series +
             "\"/>\n";
    };
    return box(margin, "here") + label(margin + 16, 65, "text", "here") + box(margin + 70, "published") +
           label(margin + 86, 65, "text", "the paper");
  }

  // Grid lines at 1, 2 and 5 times powers of ten, with numbers where there is room.
  std::string scale() const {
    std::string lines;
    double last = -1e9;
    const double bottom = height_ - ticks_height;
    for (double power = 0.001; power < 1e6; power *= 10) {
      for (const double digit : {1.0, 2.0, 5.0}) {
        const double value = digit * power;
        if (value < lowest_ * 0.999 || value > highest_ * 1.001) continue;
        const bool one = std::abs(value - 1) < 1e-6;
        lines += "<path d=\"M" + number(x(value)) + " " + number(legend_height - 4) + "V" + number(bottom) +
                 "\" class=\"" + (one ? "one" : "line") + "\"/>\n";
        char text[16];
        std::snprintf(text, sizeof text, "%g", value);
        if (x(value) - last < 30) continue;
        lines += label(x(value), bottom + 16, "tick faint", text);
        last = x(value);
      }
    }
    return lines;
  }

  std::string steps() const {
    std::string drawn;
    double y = legend_height;
    for (const SpeedUpStep& step : chart_.steps) {
      drawn += label(margin, y + 17, "step text", step.name);
      y += step_height;
      for (const SpeedUpBars& bars : step.bars) {
        drawn += label(left_ - 8, y + bar_height + 6, "name faint", bars.name);
        drawn += bar(bars.here, y, "here");
        drawn += bar(bars.published, y + bar_height + bar_gap, "published");
        y += pair_height;
      }
    }
    return drawn;
  }

  std::string bar(const std::optional<double>& value, double y, const char* series) const {
    if (!value) return "";
    const double from = std::min(x(1), x(*value)), to = std::max(x(1), x(*value));
    return "<rect x=\"" + number(from) + "\" y=\"" + number(y) + "\" width=\"" +
           number(std::max(to - from, 1.0)) + "\" height=\"" + number(bar_height) + "\" class=\"" + series +
           "\"/>\n" + label(to + 5, y + bar_height - 1, "text value", speed(*value));
  }

  const SpeedUpChart& chart_;
  double lowest_ = 1, highest_ = 2;
  double left_, width_, height_;
};

}  // namespace

std::string draw_svg(const SpeedUpChart& chart) {
  return Drawing(chart).draw();
}

}  // namespace parallax::tool
