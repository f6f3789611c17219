// SPDX-License-Identifier: Apache-2.0
#include "backends/ipu_sim/machine.h"

#include <optional>
#include <utility>

#include "backends/ipu_sim/detail/block.h"
#include "backends/ipu_sim/detail/cores.h"
#include "backends/ipu_sim/detail/interpret.h"
#include "backends/ipu_sim/detail/product.h"
#include "expr/element_bytes.h"
#include "lower/bsp/halo.h"
#include "lower/bsp/places.h"

namespace tilescope::ipu_sim {
namespace {

using namespace lower::bsp;  // the program is all that this file is about

const std::byte* bytes_at(const std::string& bytes, std::int64_t at) {
  return reinterpret_cast<const std::byte*>(bytes.data()) + at;
}

class Machine {
 public:
  Machine(const Program& p, const std::vector<std::vector<double>>& scalars, const std::vector<expr::Values>& inputs,
          Arithmetic arithmetic)
      : p_(p), scalars_(scalars), arithmetic_(arithmetic), cores_(p.cores, p.memory, p.dram) {
    for (std::size_t t = 0; t < p.tensors.size(); ++t) inputs_.push_back(expr::to_bytes(p.tensors[t].dtype, inputs[t]));
    counts_.sent.assign(static_cast<std::size_t>(p.cores), 0);
    counts_.received.assign(static_cast<std::size_t>(p.cores), 0);
  }

  Result run() {
    for (std::size_t t = 0; t < p_.tensors.size(); ++t)
      if (const Home& h = p_.tensors[t].home; h.stage < 0 && (h.per_core > 0 || h.dram >= 0))
        place_home(static_cast<int>(t));
    for (const Stage& s : p_.stages) run(s);
    Result out;
    for (std::size_t t = 0; t < p_.tensors.size(); ++t) out.tensors.push_back(gathered(static_cast<int>(t)));
    counts_.memory = cores_.used();
    out.counts = std::move(counts_);
    return out;
  }

 private:
  // A buffer that an exchange fills: the slot that was filled last, and the one that is.
  struct Filling {
    const Transfer* transfer;
    const Buffer* buffer;
    std::int64_t old, slot;
  };
  // Bytes that go from one core to another, or come from `input` where its first exchange was done before.
  struct Copy {
    std::int64_t from, source, to, address, bytes;
    const std::string *sent, *received;  // tensors
    const std::byte* input;
  };

  // Memories are numbered: those of the cores, then those of the channels.
  std::int64_t memory_of(const Piece& piece) const { return piece.channel < 0 ? piece.core : p_.cores + piece.channel; }

  void place_home(int tensor) {
    const Tensor& t = p_.tensors[static_cast<std::size_t>(tensor)];
    const std::int64_t size = base::size_of(t.dtype).n;
    for_each_piece(p_, tensor, 0, t.elements, [&](const Piece& piece) {
      cores_.write(memory_of(piece), piece.address,
                   bytes_at(inputs_[static_cast<std::size_t>(tensor)], piece.first * size), piece.count * size, t.name);
    });
  }

  expr::Values gathered(int tensor) {
    const Tensor& t = p_.tensors[static_cast<std::size_t>(tensor)];
    if (t.home.stage < 0) return {};
    const std::int64_t size = base::size_of(t.dtype).n;
    expr::Values out(static_cast<std::size_t>(t.elements));
    for_each_piece(p_, tensor, 0, t.elements, [&](const Piece& piece) {
      const std::byte* from = cores_.read(memory_of(piece), piece.address, piece.count * size, t.name);
      for (std::int64_t i = 0; i < piece.count; ++i)
        out[static_cast<std::size_t>(piece.first + i)] = expr::element_at(t.dtype, from + i * size);
    });
    return out;
  }

  void at_step(std::int64_t step) { cores_.at_step(step_ = step); }

  void run(const Stage& s) {
    slots_.assign(s.buffers.size(), 0);
    at_step(0);
    const auto product = arithmetic_ == Arithmetic::kMatrices
                             ? Product::of(p_.expressions[static_cast<std::size_t>(s.number)], s)
                             : std::nullopt;
    const Counters first(s.axes.size(), 0);
    exchange(s, s.arrange, first, p_.prearranged && s.number == 0);
    const std::int64_t steps = steps_of(s);
    Counters before = first;
    for (std::int64_t step = 0; step < steps; ++step) {
      at_step(step + 1);
      const Counters now = counters_at(s, step);
      std::vector<Transfer> due;
      for (const Transfer& t : s.moves)
        if (step == 0 ? t.from_home() : changes(s, s.buffers[static_cast<std::size_t>(t.buffer)], before, now))
          due.push_back(t);
      exchange(s, due, now, false);
      for (std::int64_t c = 0; c < s.cores; ++c) {
        const Block block(p_, s, c, now, slots_);
        counts_.points += product ? product->multiply(block, cores_)
                                  : interpret(block, scalars_[static_cast<std::size_t>(s.number)], cores_);
      }
      if (step + 1 < steps) {
        const Counters next = counters_at(s, step + 1);
        if (stores_after(s, now, &next)) store(s, now);
      }
      before = now;
    }
    reduce(s, before);
    if (stores_after(s, before, nullptr)) store(s, before);
  }

  // An exchange of its own: every core's results, to where they are at home.
  void store(const Stage& s, const Counters& at) {
    const Buffer& result = s.buffers[static_cast<std::size_t>(s.compute.result)];
    run_exchange([&](const auto& visit) {
      for (std::int64_t c = 0; c < s.cores; ++c)
        for_each_stored(s, c, at, [&](std::int64_t address, std::int64_t first, std::int64_t n) {
          std::int64_t from = address;
          for_each_piece(p_, result.tensor, first, n, [&](const Piece& piece) {
            const std::int64_t bytes = piece.count * size_of(result);
            visit(Copy{c, from, memory_of(piece), piece.address, bytes, &result.name, &result.name, nullptr});
            from += bytes;
          });
        });
    });
  }

  // Copies what every receiver wants, once it is known that nothing is read that the exchange writes: then the order of
  // copies is of no account. Of inputs that are `done`, which lie in that memory already, only halos move.
  void exchange(const Stage& s, const std::vector<Transfer>& transfers, const Counters& at, bool done) {
    if (transfers.empty()) return;
    std::vector<Filling> fillings;
    for (const Transfer& t : transfers) {
      const Buffer& b = s.buffers[static_cast<std::size_t>(t.buffer)];
      std::int64_t& slot = slots_[static_cast<std::size_t>(t.buffer)];
      fillings.push_back({&t, &b, slot, (slot + 1) % b.slots});
      slot = fillings.back().slot;
    }
    run_exchange([&](const auto& visit) {
      for (const Filling& f : fillings)
        for (std::int64_t c = 0; c < s.cores; ++c) {
          if (f.transfer->from_home())
            fetch(s, f, c, at, done, visit);
          else
            pass(s, f, c, at, visit);
        }
    });
    if (done) {
      run_exchange([&](const auto& visit) {
        for (const Filling& f : fillings)
          for (std::int64_t c = 0; c < s.cores; ++c) bring_halo(s, f, c, at, visit);
      });
      return;
    }
    if (std::none_of(transfers.begin(), transfers.end(), [](const Transfer& t) { return t.gathered >= 0; })) return;
    run_exchange([&](const auto& visit) {
      for (const Filling& f : fillings)
        if (f.transfer->gathered >= 0)
          for (std::int64_t c = 0; c < s.cores; ++c) gather(s, f, c, at, visit);
    });
  }

  // From the cores on which the elements lie, whose windows have them too.
  template <class Visit>
  void bring_halo(const Stage& s, const Filling& f, std::int64_t core, const Counters& at, const Visit& visit) {
    const Buffer& b = *f.buffer;
    const Box all = box_of(s, b, core, at);
    for_each_halo(s, b, core, [&](std::int64_t from, const Box& part) {
      const Box theirs = box_of(s, b, from, at);
      for_each_run(part, b.dims, [&](std::int64_t first, std::int64_t n) {
        const std::int64_t source = begin_of(b, f.slot) + position_in(theirs, b.dims, first) * size_of(b);
        const std::int64_t to = begin_of(b, f.slot) + position_in(all, b.dims, first) * size_of(b);
        visit(Copy{from, source, core, to, n * size_of(b), &b.name, &b.name, nullptr});
      });
    });
  }

  // Where slices were brought, those of the other cores of the ring, which lie where they do with them.
  template <class Visit>
  void gather(const Stage& s, const Filling& f, std::int64_t core, const Counters& at, const Visit& visit) {
    const Buffer& b = *f.buffer;
    const Ring& ring = s.rings[static_cast<std::size_t>(f.transfer->ring)];
    for (std::int64_t from = next_in(ring, core); from != core; from = next_in(ring, from)) {
      const Box all = box_of(s, b, from, at);
      for_each_run(slice_of(s, *f.transfer, from, at), b.dims, [&](std::int64_t first, std::int64_t n) {
        const std::int64_t place = begin_of(b, f.slot) + position_in(all, b.dims, first) * size_of(b);
        visit(Copy{from, place, core, place, n * size_of(b), &b.name, &b.name, nullptr});
      });
    }
  }

  // `for_each_copy(visit)` calls visit(Copy), each time for the same copies.
  template <class ForEachCopy>
  void run_exchange(const ForEachCopy& for_each_copy) {
    cores_.begin_exchange();
    for_each_copy([&](const Copy& c) {
      if (c.input == nullptr) {
        cores_.send(c.from, c.source, c.bytes, *c.sent);
        count(c);
      }
      cores_.receive(c.to, c.address, c.bytes, *c.received);
    });
    for_each_copy([&](const Copy& c) {
      if (c.input == nullptr)
        cores_.copy(c.from, c.source, c.to, c.address, c.bytes, *c.received);
      else
        cores_.write(c.to, c.address, c.input, c.bytes, *c.received);
    });
  }

  void count(const Copy& c) {
    if (c.to < p_.cores) counts_.delivered += c.bytes;
    if (c.from == c.to) return;
    (c.from < p_.cores ? counts_.sent[static_cast<std::size_t>(c.from)] : counts_.from_dram) += c.bytes;
    (c.to < p_.cores ? counts_.received[static_cast<std::size_t>(c.to)] : counts_.to_dram) += c.bytes;
  }

  template <class Visit>
  void fetch(const Stage& s, const Filling& f, std::int64_t core, const Counters& at, bool done, const Visit& visit) {
    const Buffer& b = *f.buffer;
    const std::string& name = p_.tensors[static_cast<std::size_t>(b.tensor)].name;
    const std::string& input = inputs_[static_cast<std::size_t>(b.tensor)];
    const std::int64_t size = size_of(b);
    const Box all = box_of(s, b, core, at);
    const Box box = done                       ? prearranged_box(s, b, core)
                    : f.transfer->gathered < 0 ? all
                                               : slice_of(s, *f.transfer, core, at);
    for_each_run(box, b.dims, [&](std::int64_t first, std::int64_t n) {
      std::int64_t to = begin_of(b, f.slot) + position_in(all, b.dims, first) * size;
      if (done) {
        visit(Copy{-1, 0, core, to, n * size, &name, &b.name, bytes_at(input, first * size)});
        return;
      }
      for_each_piece(p_, b.tensor, first, n, [&](const Piece& piece) {
        visit(Copy{memory_of(piece), piece.address, core, to, piece.count * size, &name, &b.name, nullptr});
        to += piece.count * size;
      });
    });
  }

  // From the next core of the ring, whose slice it was: that core's box of the step before.
  template <class Visit>
  void pass(const Stage& s, const Filling& f, std::int64_t core, const Counters& at, const Visit& visit) {
    const Buffer& b = *f.buffer;
    const std::int64_t from = next_in(s.rings[static_cast<std::size_t>(f.transfer->ring)], core);
    const std::int64_t bytes = elements_of(box_of(s, b, core, at)) * size_of(b);
    if (bytes > 0) visit(Copy{from, begin_of(b, f.old), core, begin_of(b, f.slot), bytes, &b.name, &b.name, nullptr});
  }

  void reduce(const Stage& s, const Counters& at);
  void add_up(const Stage& s, std::int64_t core, const Interval& share);

  const Program& p_;
  const std::vector<std::vector<double>>& scalars_;
  Arithmetic arithmetic_;
  Cores cores_;
  std::vector<std::string> inputs_;  // bytes, by tensor
  std::vector<std::int64_t> slots_;  // of the stage that runs, by buffer: the one that was filled last
  Counts counts_;
  std::int64_t step_ = 0;
};

// Every core gets its share of the partial sums of all others, and adds them up in the order of the parts.
void Machine::reduce(const Stage& s, const Counters& at) {
  if (!s.reduce) return;
  const Reduce& r = *s.reduce;
  const Buffer& sums = s.buffers[static_cast<std::size_t>(s.compute.sums)];
  const Buffer& received = s.buffers[static_cast<std::size_t>(r.received)];
  const auto share_on = [&](std::int64_t core) {
    return share_of(r, number_in(r, core), elements_of(box_of(s, sums, core, at)));
  };
  at_step(step_ + 1);
  run_exchange([&](const auto& visit) {
    for (std::int64_t c = 0; c < s.cores; ++c) {
      const Interval share = share_on(c);
      const std::int64_t bytes = share.length * size_of(sums);
      std::int64_t to = begin_of(received, 0);
      for (std::int64_t n = 0; n < count_of(r) && bytes > 0; ++n) {
        const std::int64_t from = core_in(r, c, n);
        if (from == c) continue;
        visit(Copy{from, begin_of(sums, 0) + share.begin * size_of(sums), c, to, bytes, &sums.name, &received.name,
                   nullptr});
        to += bytes;
      }
    }
  });
  for (std::int64_t c = 0; c < s.cores; ++c) add_up(s, c, share_on(c));
}

void Machine::add_up(const Stage& s, std::int64_t core, const Interval& share) {
  if (share.length == 0) return;
  const Reduce& r = *s.reduce;
  const expr::Expression& e = p_.expressions[static_cast<std::size_t>(s.number)];
  const expr::Stage& loops = e.stages.front();
  const expr::Numbers numbers = expr::numbers_of(e, loops);
  const Buffer& sums = s.buffers[static_cast<std::size_t>(s.compute.sums)];
  const Buffer& received = s.buffers[static_cast<std::size_t>(r.received)];
  const Buffer& result = s.buffers[static_cast<std::size_t>(s.compute.result)];
  const std::int64_t bytes = share.length * size_of(sums);
  expr::Values values(static_cast<std::size_t>(share.length), expr::identity(loops.reducer));
  std::int64_t other = begin_of(received, 0);
  for (std::int64_t n = 0; n < count_of(r); ++n) {
    const bool own = core_in(r, core, n) == core;
    const std::int64_t from =
        own ? begin_of(sums, 0) + share.begin * size_of(sums) : std::exchange(other, other + bytes);
    const std::byte* part = cores_.read(core, from, bytes, sums.name);
    for (double& value : values) {
      value =
          expr::round_to(e.accumulate, expr::reduce(loops.reducer, numbers, value, expr::element_at(sums.dtype, part)));
      part += size_of(sums);
    }
  }
  for (double& value : values) {
    if (loops.reducer == expr::Reducer::kMean) value = expr::round_to(e.accumulate, value / reduced_iterations(loops));
    value = expr::round_to(result.dtype, value);
  }
  const std::string out = expr::to_bytes(result.dtype, values);
  cores_.write(core, begin_of(result, 0), bytes_at(out, 0), std::ssize(out), result.name);
}

}  // namespace

Result run(const Program& p, const std::vector<std::vector<double>>& scalars, const std::vector<expr::Values>& inputs,
           Arithmetic arithmetic) {
  return Machine(p, scalars, inputs, arithmetic).run();
}

bool multiplies(const expr::Expression& e) { return product_numbers(e, e.stages.front()).has_value(); }

}  // namespace tilescope::ipu_sim
