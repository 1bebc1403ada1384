// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <limits>

#include "core/integers.h"
#include "matchers/tiled_belief_propagation/cpu_kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "matchers/tiled_belief_propagation/message_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "devices/cpu/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace parallax::tiled_belief_propagation::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// A vector of one lane needs no transposition.
template <class Element>
constexpr int cell_of() {
  return HWY_TARGET == HWY_SCALAR ? 1 : static_cast<int>(16 / sizeof(Element));
}

template <class Tag>
struct Kernel {
  using Element = hn::TFromD<Tag>;
  using Vector = hn::Vec<Tag>;
  static constexpr Element highest = std::numeric_limits<Element>::max();
  static constexpr int cell = cell_of<Element>();

  static HWY_INLINE Vector load(const Element* p) { return hn::LoadU(Tag(), p); }
  static HWY_INLINE void store(Vector v, Element* p) { hn::StoreU(v, Tag(), p); }
  static HWY_INLINE Vector set(int value) { return hn::Set(Tag(), static_cast<Element>(value)); }

  // One of the sweeps, at one step.
  struct Sender {
    const Element* sums;
    const Element* message;  // to this step
    Element* next;           // to the next one; may be in the same place
    Element* kept;           // the message of the other sweep to this step, then the sum of both
    const Element* data;
  };

  enum class Keep { nothing, sum, sum_and_data };

  // The message step of neighbouring pixels. Sums that overflow saturate, far above any value that affects a
  // message.
  template <Keep keep, int senders>
  static HWY_INLINE void send(const BlockShape& shape, Vector slope, Vector truncation,
                              const Sender (&sender)[senders]) {
    const std::ptrdiff_t lanes = shape.lanes, end = shape.elements();
    Vector least[senders], reach[senders], cap[senders];
    for (int i = 0; i < senders; ++i) least[i] = reach[i] = set(highest);
    for (std::ptrdiff_t at = 0; at < end; at += lanes) {
      for (int i = 0; i < senders; ++i) {
        const Vector message = load(sender[i].message + at);
        keep_message<keep>(sender[i], at, message);
        const Vector h = hn::SaturatedAdd(load(sender[i].sums + at), message);
        least[i] = hn::Min(least[i], h);
        reach[i] = hn::Min(h, hn::SaturatedAdd(reach[i], slope));
        store(reach[i], sender[i].next + at);
      }
    }
    for (int i = 0; i < senders; ++i) reach[i] = cap[i] = hn::SaturatedAdd(least[i], truncation);
    for (std::ptrdiff_t at = end - lanes; at >= 0; at -= lanes) {
      for (int i = 0; i < senders; ++i) {
        Element* message = sender[i].next + at;
        reach[i] = hn::Min(hn::Min(load(message), cap[i]), hn::SaturatedAdd(reach[i], slope));
        store(hn::Sub(reach[i], least[i]), message);
      }
    }
  }

  template <Keep keep>
  static HWY_INLINE void keep_message(const Sender& sender, std::ptrdiff_t at, Vector message) {
    if constexpr (keep == Keep::sum) store(hn::Add(message, load(sender.kept + at)), sender.kept + at);
    if constexpr (keep == Keep::sum_and_data)
      store(hn::Add(hn::Add(message, load(sender.data + at)), load(sender.kept + at)), sender.kept + at);
  }

  // Keeps all messages of a step without sending.
  template <Keep keep>
  static HWY_INLINE void keep_all(const BlockShape& shape, const Sender& sender) {
    for (std::ptrdiff_t at = 0; at < shape.elements(); at += shape.lanes)
      keep_message<keep>(sender, at, load(sender.message + at));
  }

  // Transposes squares of cell × cell elements, one in each 128 bits of the vectors: interleaving the first
  // half of the vectors with the second moves the highest bit of an element's row into its column, and the
  // highest bit of its column into its row.
  static HWY_INLINE void turn_cells([[maybe_unused]] Vector (&rows)[cell]) {
#if HWY_TARGET != HWY_SCALAR
    for (int round = 1; round < cell; round *= 2) {
      Vector next[cell];
      for (int i = 0; i < cell / 2; ++i) {
        next[2 * i] = hn::InterleaveLower(Tag(), rows[i], rows[i + cell / 2]);
        next[2 * i + 1] = hn::InterleaveUpper(Tag(), rows[i], rows[i + cell / 2]);
      }
      for (int i = 0; i < cell; ++i) rows[i] = next[i];
    }
#endif
  }

  // Loads a vector whose 128-bit parts are separate, `from[i]` elements from p.
  template <class AnyTag>
  static HWY_INLINE hn::Vec<AnyTag> gather(AnyTag tag, const Element* p, const std::ptrdiff_t* from) {
    constexpr int cells = static_cast<int>(hn::MaxLanes(AnyTag())) / cell;
    if constexpr (cells <= 1) {
      return hn::LoadU(tag, p + from[0]);
    } else {
#if HWY_TARGET != HWY_SCALAR
      const hn::Half<AnyTag> half;
      return hn::Combine(tag, gather(half, p, from + cells / 2), gather(half, p, from));
#endif
    }
  }

  // Transposes, for all labels, the steps [first, last) of block `block`, which begins at `from`: as many as
  // a group has lanes, except for the last. Lane a of step s becomes lane s of step a, within each tile.
  template <bool compares>
  static void turn_steps(const BlockShape& shape, const Element* from, int block, int first, int last,
                         const Turn& turn) {
    constexpr int cells = static_cast<int>(hn::MaxLanes(Tag())) / cell;
    const std::ptrdiff_t step = shape.step();
    // The sources of the 128-bit parts of a target vector: another tile, or later steps. Where there are
    // none, those lanes are ignored.
    std::ptrdiff_t sources[cells];
    for (int i = 0; i < cells; ++i) {
      const int tile = i * cell / shape.group, s = first + i * cell % shape.group;
      sources[i] = (s < last ? s : first) * step + (tile < shape.tiles ? tile * shape.group : 0);
    }
    const std::ptrdiff_t target_block = first / shape.lanes;
    const bool apart = shape.group != cell;
    bool changed = false;
    for (std::ptrdiff_t label = 0; label < shape.elements(); label += shape.lanes) {
      for (int lane = 0; lane < shape.group; lane += cell) {
        const int target_step = block * shape.lanes + lane;
        if (target_step >= turn.target_steps) break;
        const Element* source = from + label + lane;
        Vector rows[cell];
        for (int j = 0; j < cell; ++j)
          rows[j] =
              apart ? gather(Tag(), source + j * step, sources) : load(source + first * step + j * step);
        turn_cells(rows);
        const std::ptrdiff_t at = (target_block * turn.target_steps + target_step) * step + label;
        Element* target = static_cast<Element*>(turn.target) + at;
        if (turn.add != nullptr)
          for (int j = 0; j < cell; ++j)
            rows[j] = hn::Add(rows[j], load(static_cast<const Element*>(turn.add) + at + j * step));
        if constexpr (compares) {
          auto difference = hn::Zero(Tag());
          for (int j = 0; j < cell; ++j)
            difference = hn::Or(difference, hn::Xor(rows[j], load(target + j * step)));
          changed |= !hn::AllTrue(Tag(), hn::Eq(difference, hn::Zero(Tag())));
        }
        for (int j = 0; j < cell; ++j) store(rows[j], target + j * step);
      }
    }
    if (changed) *turn.changed = true;
  }

  static void turn_some(const BlockShape& shape, const Element* from, int block, int first, int last,
                        const Turn& turn) {
    if (turn.compares)
      turn_steps<true>(shape, from, block, first, last, turn);
    else
      turn_steps<false>(shape, from, block, first, last, turn);
  }

  static void turn_block(const BlockShape& shape, const void* from, int block, int steps, const Turn& turn) {
    for (int first = 0; first < steps; first += shape.group)
      turn_some(shape, static_cast<const Element*>(from), block, first, std::min(first + shape.group, steps),
                turn);
  }

  // The state of a block's sweeps at some step.
  struct Progress {
    const Sweeps& sweeps;
    Vector slope, truncation;

    explicit HWY_INLINE Progress(const Sweeps& of)
        : sweeps(of), slope(set(of.slope)), truncation(set(of.truncation)) {}

    Element* messages(int s) const {
      return static_cast<Element*>(sweeps.messages) + s * sweeps.shape.step();
    }
    const Element* sums(int s) const {
      return static_cast<const Element*>(sweeps.sums) + s * sweeps.shape.step();
    }
    Sender sender(const void* message, void* next, int s) const {
      const auto* data = static_cast<const Element*>(sweeps.data);
      return {sums(s), static_cast<const Element*>(message), static_cast<Element*>(next), messages(s),
              data == nullptr ? nullptr : data + s * sweeps.shape.step()};
    }
    Sender forward(int s) const { return sender(sweeps.forward, sweeps.forward, s); }
    Sender backward(int s) const { return sender(sweeps.backward, sweeps.backward, s); }

    // No message comes to the last step of a short tile from beyond its end.
    void enter(int step, void* message) const {
      if (sweeps.short_tile == no_tile || step != sweeps.short_steps - 1) return;
      const BlockShape& shape = sweeps.shape;
      Element* lanes = static_cast<Element*>(message) + sweeps.short_tile * shape.group;
      for (int label = 0; label < shape.labels; ++label)
        std::fill_n(lanes + label * shape.lanes, shape.group, Element{0});
    }
    void enter(int step) const { enter(step, sweeps.backward); }

    template <Keep keep>
    void send_both(int s, int t) const {
      send<keep, 2>(sweeps.shape, slope, truncation, {forward(s), backward(t)});
    }
    // Sweeps until both sweeps meet; returns the forward sweep's step then. Messages stay in the step that
    // they are sent to, except those that meet.
    int approach() const {
      const std::size_t bytes = static_cast<std::size_t>(sweeps.shape.step()) * sizeof(Element);
      int s = 0, t = sweeps.steps - 1;
      if (s < t) {
        std::memcpy(messages(s), sweeps.forward, bytes);
        std::memcpy(messages(t), sweeps.backward, bytes);
      }
      for (; s < t; ++s, --t) {
        enter(t, messages(t));
        const bool meet = s + 1 >= t - 1;
        send<Keep::nothing, 2>(sweeps.shape, slope, truncation,
                               {sender(messages(s), meet ? sweeps.forward : messages(s + 1), s),
                                sender(messages(t), meet ? sweeps.backward : messages(t - 1), t)});
      }
      if (s == t) enter(t);
      return s;
    }
    bool leaves() const { return sweeps.forward_leaves || sweeps.backward_leaves; }
  };

  template <Keep keep>
  static void sweep_and_turn_with(const Sweeps& sweeps, const Turn& turn) {
    const Progress at(sweeps);
    const BlockShape& shape = sweeps.shape;
    const int steps = sweeps.steps;
    int s = at.approach();
    // Steps that have both messages.
    int known_from = s, known_to = s;
    const auto finish = [&](int chunk) {
      const int first = chunk * shape.group;
      turn_some(shape, static_cast<const Element*>(sweeps.messages), sweeps.block, first,
                std::min(first + shape.group, steps), turn);
    };
    const auto finish_known = [&](int from, int to) {
      const int low = from / shape.group, high = to / shape.group;
      const bool low_done =
          from % shape.group == 0 && (low < high || to == steps - 1 || (to + 1) % shape.group == 0);
      const bool high_done =
          ((to + 1) % shape.group == 0 || to == steps - 1) && (low < high || from % shape.group == 0);
      if (low_done) finish(low);
      if (high_done && (high != low || !low_done)) finish(high);
    };
    if (2 * s == steps - 1) {
      // The middle step of an odd number.
      std::memcpy(at.messages(s), sweeps.forward, static_cast<std::size_t>(shape.step()) * sizeof(Element));
      keep_all<keep>(shape, at.backward(s));
      known_from = s;
      known_to = s;
      if (s + 1 < steps || at.leaves()) at.template send_both<Keep::nothing>(s, s);
      finish_known(known_from, known_to);
      ++s;
    }
    for (; s < steps; ++s) {
      const int t = steps - 1 - s;
      at.enter(t);
      if (s + 1 < steps || at.leaves()) {
        at.template send_both<keep>(s, t);
      } else {
        keep_all<keep>(shape, at.forward(s));
        keep_all<keep>(shape, at.backward(t));
      }
      finish_known(t, s);
    }
  }

  static void sweep_and_turn(const Sweeps& sweeps, const Turn& turn) {
    if (sweeps.data == nullptr)
      sweep_and_turn_with<Keep::sum>(sweeps, turn);
    else
      sweep_and_turn_with<Keep::sum_and_data>(sweeps, turn);
  }

  static void sweep_and_decide(const Sweeps& sweeps, const Decision& decision) {
    const Progress at(sweeps);
    int s = at.approach();
    if (2 * s == sweeps.steps - 1) {
      decide(sweeps.shape, at.forward(s), at.backward(s).message, s, decision);
      if (s + 1 < sweeps.steps || at.leaves()) at.template send_both<Keep::nothing>(s, s);
      ++s;
    }
    for (; s < sweeps.steps; ++s) {
      const int t = sweeps.steps - 1 - s;
      at.enter(t);
      decide(sweeps.shape, at.forward(s), at.messages(s), s, decision);
      decide(sweeps.shape, at.backward(t), at.messages(t), t, decision);
      if (s + 1 < sweeps.steps || at.leaves()) at.template send_both<Keep::nothing>(s, t);
    }
  }

  static void sweep_out(const Sweeps& sweeps) {
    const Progress at(sweeps);
    if (sweeps.forward_leaves)
      for (int s = 0; s < sweeps.steps; ++s)
        send<Keep::nothing, 1>(sweeps.shape, at.slope, at.truncation, {at.forward(s)});
    if (sweeps.backward_leaves) {
      for (int t = sweeps.steps - 1; t >= 0; --t) {
        at.enter(t);
        send<Keep::nothing, 1>(sweeps.shape, at.slope, at.truncation, {at.backward(t)});
      }
    }
  }

  // Decisions, in words: not all beliefs fit in bytes.

  static constexpr auto word_tag() {
    if constexpr (sizeof(Element) == 2)
      return Tag();
    else if constexpr (HWY_TARGET == HWY_SCALAR)
      return hn::Rebind<std::uint16_t, Tag>();
    else
      return hn::Repartition<std::uint16_t, Tag>();
  }
  using WordTag = decltype(word_tag());
  using Words = hn::Vec<WordTag>;

  static HWY_INLINE Words load_words(const Element* p) {
    if constexpr (sizeof(Element) == 2)
      return hn::LoadU(WordTag(), p);
    else
      return hn::PromoteTo(WordTag(), hn::LoadU(hn::Rebind<std::uint8_t, WordTag>(), p));
  }

  static void decide(const BlockShape& shape, const Sender& sender, const Element* other, int s,
                     const Decision& decision) {
    const WordTag tag;
    const int words = static_cast<int>(hn::Lanes(tag));
    const bool around = decision.best != nullptr;
    const std::ptrdiff_t out = static_cast<std::ptrdiff_t>(s) * shape.lanes;
    for (int first = 0; first < shape.lanes; first += words) {
      Words best = hn::Set(tag, std::numeric_limits<std::uint16_t>::max()), label_of_best = hn::Zero(tag);
      for (int label = 0; label < shape.labels; ++label) {
        const std::ptrdiff_t at = static_cast<std::ptrdiff_t>(label) * shape.lanes + first;
        const Words belief = hn::Add(hn::Add(load_words(sender.sums + at), load_words(sender.message + at)),
                                     load_words(other + at));
        const auto better = hn::Lt(belief, best);
        best = hn::Min(belief, best);
        label_of_best =
            hn::IfThenElse(better, hn::Set(tag, static_cast<std::uint16_t>(label)), label_of_best);
        if (around) hn::StoreU(belief, tag, decision.scratch + label * words);
      }
      hn::StoreU(label_of_best, tag, decision.labels + out + first);
      if (around) look_around(shape, out + first, decision);
    }
  }

  // Finds the beliefs next to the lowest.
  static HWY_INLINE void look_around(const BlockShape& shape, std::ptrdiff_t first,
                                     const Decision& decision) {
    const int words = static_cast<int>(hn::Lanes(WordTag()));
    for (int j = 0; j < words; ++j) {
      const int label = decision.labels[first + j];
      const auto belief_of = [&](int at) {
        return at < 0 || at >= shape.labels ? 0.0f : static_cast<float>(decision.scratch[at * words + j]);
      };
      decision.before[first + j] = belief_of(label - 1);
      decision.best[first + j] = belief_of(label);
      decision.after[first + j] = belief_of(label + 1);
    }
  }

  static void add_step(const BlockShape& shape, const void* others, void* row) {
    const auto* from = static_cast<const Element*>(others);
    auto* to = static_cast<Element*>(row);
    for (std::ptrdiff_t at = 0; at < shape.elements(); at += shape.lanes)
      store(hn::Add(load(to + at), load(from + at)), to + at);
  }
};

template <class Element, std::size_t bytes>
using BlockTag = hn::CappedTag<Element, bytes / sizeof(Element)>;

template <class Element, class Use>
void with_lanes(int lanes, const Use& use) {
  if (lanes == static_cast<int>(hn::Lanes(BlockTag<Element, 64>())))
    use(Kernel<BlockTag<Element, 64>>());
  else if (lanes == static_cast<int>(hn::Lanes(BlockTag<Element, 32>())))
    use(Kernel<BlockTag<Element, 32>>());
  else
    use(Kernel<BlockTag<Element, 16>>());
}

template <class Use>
void with_kernel(const BlockShape& shape, const Use& use) {
  if (shape.element_bytes == 1)
    with_lanes<std::uint8_t>(shape.lanes, use);
  else
    with_lanes<std::uint16_t>(shape.lanes, use);
}

void sweep_and_turn_here(const Sweeps& sweeps, const Turn& turn) {
  with_kernel(sweeps.shape, [&](auto kernel) { kernel.sweep_and_turn(sweeps, turn); });
}
void sweep_and_decide_here(const Sweeps& sweeps, const Decision& decision) {
  with_kernel(sweeps.shape, [&](auto kernel) { kernel.sweep_and_decide(sweeps, decision); });
}
void sweep_out_here(const Sweeps& sweeps) {
  with_kernel(sweeps.shape, [&](auto kernel) { kernel.sweep_out(sweeps); });
}
void turn_block_here(const BlockShape& shape, const void* from, int block, int steps, const Turn& turn) {
  with_kernel(shape, [&](auto kernel) { kernel.turn_block(shape, from, block, steps, turn); });
}
void add_step_here(const BlockShape& shape, const void* others, void* row) {
  with_kernel(shape, [&](auto kernel) { kernel.add_step(shape, others, row); });
}

int cell_here(int element_bytes) {
  return element_bytes == 1 ? cell_of<std::uint8_t>() : cell_of<std::uint16_t>();
}

template <class Element>
int choose_lanes_of(int side) {
  const int narrow = static_cast<int>(hn::Lanes(BlockTag<Element, 16>())),
            middle = static_cast<int>(hn::Lanes(BlockTag<Element, 32>())),
            wide = static_cast<int>(hn::Lanes(BlockTag<Element, 64>()));
  // The share of lanes that do useful work.
  const auto use = [&](int lanes) {
    const int group = round_up(side, narrow);
    const int pixels = group <= lanes ? lanes / group * side : side;
    const int blocks = group <= lanes ? 1 : divide_round_up(side, lanes);
    return static_cast<double>(pixels) / (blocks * lanes);
  };
  if (use(wide) > 0.85 * std::max(use(middle), use(narrow))) return wide;
  return use(middle) > 0.85 * use(narrow) ? middle : narrow;
}

template <class Element>
int lanes_in_of(int vector_bytes) {
  return static_cast<int>(vector_bytes == 64   ? hn::Lanes(BlockTag<Element, 64>())
                          : vector_bytes == 32 ? hn::Lanes(BlockTag<Element, 32>())
                                               : hn::Lanes(BlockTag<Element, 16>()));
}

int lanes_in_here(int vector_bytes, int element_bytes) {
  return element_bytes == 1 ? lanes_in_of<std::uint8_t>(vector_bytes)
                            : lanes_in_of<std::uint16_t>(vector_bytes);
}

int choose_lanes_here(int element_bytes, int side) {
  return element_bytes == 1 ? choose_lanes_of<std::uint8_t>(side) : choose_lanes_of<std::uint16_t>(side);
}

}  // namespace parallax::tiled_belief_propagation::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace parallax::tiled_belief_propagation {

PARALLAX_DISPATCH(void, sweep_and_turn, (const Sweeps& sweeps, const Turn& turn), (sweeps, turn))
PARALLAX_DISPATCH(void, sweep_and_decide, (const Sweeps& sweeps, const Decision& decision),
                  (sweeps, decision))
PARALLAX_DISPATCH(void, sweep_out, (const Sweeps& sweeps), (sweeps))
PARALLAX_DISPATCH(void, turn_block,
                  (const BlockShape& shape, const void* from, int block, int steps, const Turn& turn),
                  (shape, from, block, steps, turn))
PARALLAX_DISPATCH(void, add_step, (const BlockShape& shape, const void* others, void* row),
                  (shape, others, row))
PARALLAX_DISPATCH(int, cell, (int element_bytes), (element_bytes))
PARALLAX_DISPATCH(int, lanes_in, (int vector_bytes, int element_bytes), (vector_bytes, element_bytes))
PARALLAX_DISPATCH(int, choose_lanes, (int element_bytes, int side), (element_bytes, side))

}  // namespace parallax::tiled_belief_propagation
#endif
