// SPDX-License-Identifier: Apache-2.0
#include "backends/ipu_sim/machine.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/integer.h"
#include "expr/extent.h"
#include "lower/bsp/places.h"

namespace tilescope::ipu_sim {
namespace {

using namespace lower::bsp;  // the program is all that this file is about

// One core's memory, an element an entry, and which phase wrote each last, and which sent it last.
class Memory {
 public:
  Memory(std::int64_t bytes, std::int64_t granule)
      : granule_(granule),
        values_(static_cast<std::size_t>(base::ceil_div(bytes, granule))),
        written_(values_.size(), kNever),
        sent_(values_.size(), kNever) {}

  static constexpr int kNever = -1;

  bool has(std::int64_t address) const {
    return address >= 0 && static_cast<std::size_t>(address / granule_) < values_.size();
  }
  double value(std::int64_t address) const { return values_[index(address)]; }
  int written(std::int64_t address) const { return written_[index(address)]; }
  int sent(std::int64_t address) const { return sent_[index(address)]; }
  void send(std::int64_t address, int phase) { sent_[index(address)] = phase; }
  void write(std::int64_t address, double value, int phase) {
    values_[index(address)] = value;
    written_[index(address)] = phase;
  }

 private:
  std::size_t index(std::int64_t address) const { return static_cast<std::size_t>(address / granule_); }

  std::int64_t granule_;
  std::vector<double> values_;
  std::vector<int> written_, sent_;
};

// The least element of the program: memory is addressed by multiples of it.
std::int64_t granule_of(const Program& p) {
  std::int64_t least = 8;
  for (const Tensor& t : p.tensors) least = std::min(least, base::size_of(t.dtype).n);
  for (const Stage& s : p.stages)
    for (const Buffer& b : s.buffers) least = std::min(least, base::size_of(b.dtype).n);
  return least;
}

// The point of the stage's loops that indices of tile axes stand for.
void set_point(const Stage& s, const expr::Stage& loops, std::size_t axis, std::int64_t index,
               std::vector<std::int64_t>& point) {
  const std::vector<int>& of_axis = s.axes[axis].loops;
  for (auto l = of_axis.rbegin(); l != of_axis.rend(); ++l) {
    const std::int64_t size = loops.axes[static_cast<std::size_t>(*l)].size;
    point[static_cast<std::size_t>(*l)] = index % size;
    index /= size;
  }
}

// Flat index of the element read at a point, or nothing outside the tensor.
std::optional<std::int64_t> element_of(const expr::Read& read, const expr::Tensor& tensor,
                                       const std::vector<std::int64_t>& point) {
  std::int64_t element = 0;
  for (std::size_t d = 0; d < read.at.size(); ++d) {
    const std::int64_t at = expr::value_at(read.at[d], point);
    if (at < 0 || at >= tensor.shape[d]) return std::nullopt;
    element = element * tensor.shape[d] + at;
  }
  return element;
}

std::int64_t size_of(const Buffer& b) { return base::size_of(b.dtype).n; }

class Machine {
 public:
  Machine(const Program& p, const std::vector<std::vector<double>>& scalars, const std::vector<expr::Values>& inputs)
      : p_(p), scalars_(scalars), inputs_(inputs) {
    cores_.reserve(static_cast<std::size_t>(p.cores));
    for (std::int64_t c = 0; c < p.cores; ++c) cores_.emplace_back(p.memory, granule_of(p));
    counts_.sent.assign(cores_.size(), 0);
    counts_.received.assign(cores_.size(), 0);
  }

  Result run() {
    for (std::size_t t = 0; t < p_.tensors.size(); ++t)
      if (p_.tensors[t].home.stage < 0 && p_.tensors[t].home.per_core > 0) place_home(static_cast<int>(t));
    for (const Stage& s : p_.stages) run(s);
    Result out;
    for (std::size_t t = 0; t < p_.tensors.size(); ++t) out.tensors.push_back(gathered(static_cast<int>(t)));
    out.counts = std::move(counts_);
    return out;
  }

 private:
  struct Write {
    std::int64_t core, address;
    double value;
    const Buffer* buffer;  // that it fills
  };

  Memory& of(std::int64_t core) { return cores_[static_cast<std::size_t>(core)]; }

  [[noreturn]] void fault(std::int64_t core, const std::string& tensor, const std::string& what) const {
    throw Fault(fmt::format("core {}, superstep {}: {}: {}", core, step_, tensor, what));
  }

  double read(std::int64_t core, std::int64_t address, const std::string& tensor) {
    if (!of(core).has(address)) fault(core, tensor, fmt::format("address {} is outside its memory", address));
    if (of(core).written(address) == Memory::kNever)
      fault(core, tensor, fmt::format("address {} is read and was never written", address));
    return of(core).value(address);
  }

  // What an exchange takes from a core's memory.
  double sent(std::int64_t core, std::int64_t address, const std::string& tensor) {
    const double value = read(core, address, tensor);
    of(core).send(address, phase_);
    return value;
  }

  void write(std::int64_t core, std::int64_t address, double value, std::int64_t bytes, const std::string& tensor) {
    if (!of(core).has(address)) fault(core, tensor, fmt::format("address {} is outside its memory", address));
    of(core).write(address, value, phase_);
    counts_.memory = std::max(counts_.memory, address + bytes);
  }

  void place_home(int tensor) {
    const Tensor& t = p_.tensors[static_cast<std::size_t>(tensor)];
    for_each_piece(p_, tensor, 0, t.elements, [&](const Piece& piece) {
      for (std::int64_t i = 0; i < piece.count; ++i)
        write(piece.core, piece.address + i * base::size_of(t.dtype).n,
              inputs_[static_cast<std::size_t>(tensor)][static_cast<std::size_t>(piece.first + i)],
              base::size_of(t.dtype).n, t.name);
    });
  }

  expr::Values gathered(int tensor) {
    const Tensor& t = p_.tensors[static_cast<std::size_t>(tensor)];
    if (t.home.stage < 0) return {};
    expr::Values out(static_cast<std::size_t>(t.elements));
    for_each_piece(p_, tensor, 0, t.elements, [&](const Piece& piece) {
      for (std::int64_t i = 0; i < piece.count; ++i)
        out[static_cast<std::size_t>(piece.first + i)] =
            read(piece.core, piece.address + i * base::size_of(t.dtype).n, t.name);
    });
    return out;
  }

  // Where a slot of a buffer begins in every core's memory.
  static std::int64_t begin_of(const Buffer& b, std::int64_t slot) { return b.offset + slot * b.elements * size_of(b); }

  void run(const Stage& s) {
    slots_.assign(s.buffers.size(), 0);
    step_ = 0;
    const Counters first(s.axes.size(), 0);
    exchange(s, s.arrange, first, p_.placed && s.number == 0);
    const std::int64_t steps = steps_of(s);
    Counters before = first;
    for (std::int64_t step = 0; step < steps; ++step) {
      step_ = step + 1;
      const Counters now = counters_at(s, step);
      std::vector<Transfer> due;
      for (const Transfer& t : s.moves)
        if (step == 0 ? t.from_home() : changes(s, s.buffers[static_cast<std::size_t>(t.buffer)], before, now))
          due.push_back(t);
      exchange(s, due, now, false);
      for (std::int64_t c = 0; c < s.cores; ++c) compute(s, c, now);
      before = now;
    }
    reduce(s, before);
  }

  // Copies what every receiver wants, from memory as it was before the exchange. An exchange that has been done already
  // fills the same memory and moves nothing.
  void exchange(const Stage& s, const std::vector<Transfer>& transfers, const Counters& at, bool done) {
    if (transfers.empty()) return;
    ++phase_;
    std::vector<Write> writes;
    for (const Transfer& t : transfers) {
      const Buffer& b = s.buffers[static_cast<std::size_t>(t.buffer)];
      std::int64_t& slot = slots_[static_cast<std::size_t>(t.buffer)];
      const std::int64_t old = slot;
      slot = (slot + 1) % b.slots;
      for (std::int64_t c = 0; c < s.cores; ++c) {
        const Box box = box_of(s, b, c, at);
        if (t.from_home())
          fetch(b, c, box, done || t.gathered < 0 ? box : slice_of(s, t, c, at), begin_of(b, slot), done, writes);
        else
          pass(s, t, c, box, old, writes);
      }
    }
    land(writes);
    if (!done) gather(s, transfers, at);
  }

  // Where slices were brought, every core of a ring gets those of the others, which lie where they do with them.
  void gather(const Stage& s, const std::vector<Transfer>& transfers, const Counters& at) {
    std::vector<Write> writes;
    ++phase_;
    for (const Transfer& t : transfers) {
      if (t.gathered < 0) continue;
      const Buffer& b = s.buffers[static_cast<std::size_t>(t.buffer)];
      const std::int64_t begin = begin_of(b, slots_[static_cast<std::size_t>(t.buffer)]);
      const Ring& ring = s.rings[static_cast<std::size_t>(t.ring)];
      for (std::int64_t c = 0; c < s.cores; ++c)
        for (std::int64_t from = next_in(ring, c); from != c; from = next_in(ring, from)) {
          const Box all = box_of(s, b, from, at), slice = slice_of(s, t, from, at);
          for_each_run(slice, b.dims, [&](std::int64_t first, std::int64_t n) {
            const std::int64_t place = begin + position_in(all, b.dims, first) * size_of(b);
            for (std::int64_t i = 0; i < n; ++i)
              writes.push_back({c, place + i * size_of(b), sent(from, place + i * size_of(b), b.name), &b});
            count(from, c, n * size_of(b));
          });
        }
    }
    land(writes);
  }

  void land(const std::vector<Write>& writes) {
    for (const Write& w : writes) {
      const std::string& tensor = w.buffer->name;
      if (!of(w.core).has(w.address)) fault(w.core, tensor, fmt::format("address {} is outside its memory", w.address));
      if (of(w.core).written(w.address) == phase_)
        fault(w.core, tensor, fmt::format("two writers of address {} in one exchange", w.address));
      if (of(w.core).sent(w.address) == phase_)
        fault(w.core, tensor, fmt::format("address {} is read by the exchange that writes it", w.address));
      of(w.core).write(w.address, w.value, phase_);
      counts_.memory = std::max(counts_.memory, w.address + size_of(*w.buffer));
    }
  }

  void count(std::int64_t from, std::int64_t to, std::int64_t bytes) {
    counts_.delivered += bytes;
    if (from == to) return;
    counts_.sent[static_cast<std::size_t>(from)] += bytes;
    counts_.received[static_cast<std::size_t>(to)] += bytes;
  }

  // A box, of which a buffer that begins there has `all`.
  void fetch(const Buffer& b, std::int64_t core, const Box& all, const Box& box, std::int64_t begin, bool done,
             std::vector<Write>& writes) {
    const Tensor& t = p_.tensors[static_cast<std::size_t>(b.tensor)];
    for_each_run(box, b.dims, [&](std::int64_t first, std::int64_t n) {
      std::int64_t to = begin + position_in(all, b.dims, first) * size_of(b);
      if (done) {
        for (std::int64_t i = 0; i < n; ++i, to += size_of(b))
          writes.push_back(
              {core, to, inputs_[static_cast<std::size_t>(b.tensor)][static_cast<std::size_t>(first + i)], &b});
        return;
      }
      for_each_piece(p_, b.tensor, first, n, [&](const Piece& piece) {
        for (std::int64_t i = 0; i < piece.count; ++i, to += size_of(b))
          writes.push_back({core, to, sent(piece.core, piece.address + i * size_of(b), t.name), &b});
        count(piece.core, core, piece.count * size_of(b));
      });
    });
  }

  // From the next core of the ring, whose slice it was: that core's box of the step before.
  void pass(const Stage& s, const Transfer& t, std::int64_t core, const Box& box, std::int64_t old,
            std::vector<Write>& writes) {
    const Buffer& b = s.buffers[static_cast<std::size_t>(t.buffer)];
    const std::int64_t from = next_in(s.rings[static_cast<std::size_t>(t.ring)], core), n = elements_of(box);
    const std::int64_t source = begin_of(b, old), to = begin_of(b, slots_[static_cast<std::size_t>(t.buffer)]);
    for (std::int64_t i = 0; i < n; ++i)
      writes.push_back({core, to + i * size_of(b), sent(from, source + i * size_of(b), b.name), &b});
    count(from, core, n * size_of(b));
  }

  // Position of an element of its tensor in a buffer's box; -1 where the box lacks it.
  static std::int64_t position_in(const Box& box, const std::vector<Dim>& dims, std::int64_t element) {
    std::int64_t position = 0;
    for (std::size_t d = 0; d < dims.size(); ++d) {
      const std::int64_t index = element / dims[d].stride % dims[d].extent - box[d].begin;
      if (index < 0 || index >= box[d].length) return -1;
      position = position * box[d].length + index;
    }
    return position;
  }

  void compute(const Stage& s, std::int64_t core, const Counters& at);
  void reduce(const Stage& s, const Counters& at);

  const Program& p_;
  const std::vector<std::vector<double>>& scalars_;
  const std::vector<expr::Values>& inputs_;
  std::vector<Memory> cores_;
  std::vector<std::int64_t> slots_;  // of the stage that runs, by buffer: the one that was filled last
  Counts counts_;
  std::int64_t step_ = 0;
  int phase_ = 0;
};

// The arithmetic of one block on one core.
class Block {
 public:
  Block(const Stage& s, std::int64_t core, const Counters& at) : s_(s) {
    for (std::size_t a = 0; a < s.axes.size(); ++a) windows_.push_back(window_of(s, a, Window::kBlock, core, at));
  }

  // Calls visit() with the axes from `first` to `last` at every point of the block, the last axis fastest.
  template <class Visit>
  void for_each(std::size_t first, std::size_t last, std::vector<std::int64_t>& index, const Visit& visit) const {
    if (first == last) return visit();
    for (index[first] = windows_[first].begin; index[first] < windows_[first].end(); ++index[first])
      for_each(first + 1, last, index, visit);
  }

 private:
  const Stage& s_;
  base::FixedVector<Interval, kMaxAxes> windows_;
};

void Machine::compute(const Stage& s, std::int64_t core, const Counters& at) {
  const expr::Expression& e = p_.expressions[static_cast<std::size_t>(s.number)];
  const expr::Stage& stage = e.stages.front();
  const auto buffer = [&](int b) -> const Buffer& { return s.buffers[static_cast<std::size_t>(b)]; };
  const Buffer &sums = buffer(s.compute.sums), &result = buffer(s.compute.result);
  const Box sums_box = box_of(s, sums, core, at), result_box = box_of(s, result, core, at);
  std::vector<Box> boxes;
  for (const int b : s.compute.operands) boxes.push_back(box_of(s, buffer(b), core, at));
  bool first = true, last = true;
  std::size_t spatial = 0;
  for (std::size_t a = 0; a < s.axes.size(); ++a) {
    if (!s.axes[a].reduced) ++spatial;
    first = first && (!s.axes[a].reduced || at[a] == 0);
    last = last && (!s.axes[a].reduced || at[a] == blocks_of(s.axes[a]) - 1);
  }
  const std::string& name = e.tensors[static_cast<std::size_t>(stage.output)].name;
  const base::Dtype out = e.tensors[static_cast<std::size_t>(stage.output)].dtype;
  const bool reduces = stage.reducer != expr::Reducer::kNone;
  double iterations = 1;
  for (const expr::Axis& a : stage.axes)
    if (a.reduction) iterations *= static_cast<double>(a.size);
  const expr::Numbers numbers = expr::numbers_of(e, stage);
  const std::vector<double>& scalars = scalars_[static_cast<std::size_t>(s.number)];
  std::vector<std::int64_t> index(s.axes.size(), 0), point(stage.axes.size(), 0);
  std::vector<double> nodes(stage.body.size(), 0);

  const auto read_value = [&](std::size_t r) -> double {
    const expr::Read& read = stage.reads[r];
    const auto element = element_of(read, e.tensors[static_cast<std::size_t>(read.tensor)], point);
    if (!element) return 0;
    const int number = s.compute.operands[r];
    const Buffer& b = buffer(number);
    const std::int64_t position = position_in(boxes[r], b.dims, *element);
    if (position < 0) fault(core, b.name, fmt::format("element {} is not in its buffer", *element));
    return this->read(core, begin_of(b, slots_[static_cast<std::size_t>(number)]) + position * size_of(b), b.name);
  };
  const auto body = [&] {
    for (std::size_t n = 0; n < nodes.size(); ++n) {
      const expr::Node& node = stage.body[n];
      if (node.kind == expr::NodeKind::kScalar)
        nodes[n] = scalars[static_cast<std::size_t>(node.index)];
      else if (node.kind == expr::NodeKind::kRead)
        nodes[n] = read_value(static_cast<std::size_t>(node.index));
      else
        nodes[n] = expr::apply(stage.body, node, numbers, nodes);
    }
    ++counts_.points;
  };
  const auto set = [&](std::size_t from, std::size_t to) {
    for (std::size_t a = from; a < to; ++a) set_point(s, stage, a, index[a], point);
  };
  const Block block(s, core, at);
  block.for_each(0, spatial, index, [&] {
    set(0, spatial);
    std::int64_t element = 0;
    for (std::size_t a = 0; a < stage.spatial_count(); ++a) element = element * stage.axes[a].size + point[a];
    const std::int64_t to = begin_of(result, 0) + position_in(result_box, result.dims, element) * size_of(result);
    if (!reduces) {
      body();
      return write(core, to, expr::round_to(out, nodes.back()), size_of(result), name);
    }
    const std::int64_t sum = begin_of(sums, 0) + position_in(sums_box, sums.dims, element) * size_of(sums);
    double value = first ? expr::identity(stage.reducer) : this->read(core, sum, name);
    block.for_each(spatial, s.axes.size(), index, [&] {
      set(spatial, s.axes.size());
      body();
      value = expr::round_to(e.accumulate, expr::reduce(stage.reducer, numbers, value, stage.body, nodes));
    });
    const bool done = last && !s.reduce;
    if (done && stage.reducer == expr::Reducer::kMean) value = expr::round_to(e.accumulate, value / iterations);
    if (!done || s.compute.sums != s.compute.result) write(core, sum, value, size_of(sums), name);
    if (done) write(core, to, expr::round_to(out, value), size_of(result), name);
  });
}

// Every core gets its share of the partial sums of all others, and adds them up in the order of the parts.
void Machine::reduce(const Stage& s, const Counters& at) {
  if (!s.reduce) return;
  const Reduce& r = *s.reduce;
  const expr::Expression& e = p_.expressions[static_cast<std::size_t>(s.number)];
  const expr::Stage& stage = e.stages.front();
  const Buffer& sums = s.buffers[static_cast<std::size_t>(s.compute.sums)];
  const Buffer& received = s.buffers[static_cast<std::size_t>(r.received)];
  const Buffer& result = s.buffers[static_cast<std::size_t>(s.compute.result)];
  const std::int64_t parts = count_of(r);
  const auto share_on = [&](std::int64_t core) {
    return share_of(r, number_in(r, core), elements_of(box_of(s, sums, core, at)));
  };
  ++step_;
  ++phase_;
  std::vector<Write> writes;
  for (std::int64_t c = 0; c < s.cores; ++c) {
    const Interval share = share_on(c);
    std::int64_t to = begin_of(received, 0);
    for (std::int64_t n = 0; n < parts; ++n) {
      const std::int64_t from = core_in(r, c, n);
      if (from == c) continue;
      for (std::int64_t i = share.begin; i < share.end(); ++i, to += size_of(sums))
        writes.push_back({c, to, sent(from, begin_of(sums, 0) + i * size_of(sums), sums.name), &received});
      count(from, c, share.length * size_of(sums));
    }
  }
  land(writes);
  double iterations = 1;
  for (const expr::Axis& a : stage.axes)
    if (a.reduction) iterations *= static_cast<double>(a.size);
  const expr::Numbers numbers = expr::numbers_of(e, stage);
  for (std::int64_t c = 0; c < s.cores; ++c) {
    const Interval share = share_on(c);
    for (std::int64_t i = 0; i < share.length; ++i) {
      double value = expr::identity(stage.reducer);
      for (std::int64_t n = 0, other = 0; n < parts; ++n) {
        const bool own = core_in(r, c, n) == c;
        const std::int64_t from = own ? begin_of(sums, 0) + (share.begin + i) * size_of(sums)
                                      : begin_of(received, 0) + (other++ * share.length + i) * size_of(sums);
        value = expr::round_to(e.accumulate, expr::reduce(stage.reducer, numbers, value, read(c, from, sums.name)));
      }
      if (stage.reducer == expr::Reducer::kMean) value = expr::round_to(e.accumulate, value / iterations);
      write(c, begin_of(result, 0) + i * size_of(result), expr::round_to(result.dtype, value), size_of(result),
            result.name);
    }
  }
}

}  // namespace

Result run(const Program& p, const std::vector<std::vector<double>>& scalars, const std::vector<expr::Values>& inputs) {
  return Machine(p, scalars, inputs).run();
}

}  // namespace tilescope::ipu_sim
