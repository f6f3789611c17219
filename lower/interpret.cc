// SPDX-License-Identifier: Apache-2.0
#include "lower/interpret.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "base/check.h"
#include "base/integer.h"
#include "lower/detail/kernel_run.h"
#include "lower/print.h"

namespace tilescope::lower {

void KernelRun::run() {
  for (block_ = 0; block_ < k_.blocks; ++block_) {
    all_.set_block(block_);
    begin_block();
    bool progress = true;
    while (progress) {
      progress = false;
      for (std::size_t c = 0; c < crews_.size(); ++c)
        for (now_ = &crews_[c]; advance(); now_ = &crews_[c]) progress = true;
    }
    end_block();
  }
}

std::vector<std::vector<std::size_t>> overlaps_of(const Kernel& k) {
  std::vector<std::vector<std::size_t>> out(k.buffers.size());
  const auto end = [](const Buffer& b) { return b.offset_bytes + b.elements * base::size_of(b.dtype).n; };
  for (std::size_t i = 0; i < k.buffers.size(); ++i)
    for (std::size_t j = 0; j < k.buffers.size(); ++j) {
      const Buffer &a = k.buffers[i], &b = k.buffers[j];
      if (i != j && a.space == Space::kShared && b.space == Space::kShared && a.offset_bytes < end(b) &&
          b.offset_bytes < end(a))
        out[i].push_back(j);
    }
  return out;
}

void KernelRun::begin_block() {
  shared_.assign(k_.buffers.size(), {});
  registers_.assign(k_.buffers.size(), {});
  for (std::size_t b = 0; b < k_.buffers.size(); ++b) {
    const Buffer& buffer = k_.buffers[b];
    const auto n = static_cast<std::size_t>(buffer.elements);
    if (buffer.space == Space::kShared) shared_[b].resize(n);
    if (buffer.space != Space::kRegister) continue;
    registers_[b].value.assign(n * static_cast<std::size_t>(k_.threads), 0);
    registers_[b].written.assign(n * static_cast<std::size_t>(k_.threads), 0);
  }
  landings_.clear();
  group_ = 0;
  mbarriers_.clear();
  for (const Mbarrier& s : k_.mbarriers) mbarriers_.emplace_back(static_cast<std::size_t>(s.stages));
  crews_.clear();
  crews_.push_back({0, 0, k_.threads, all_, {{&k_.body}}, {0}, {}});
  specialized_ = false;
}

void KernelRun::end_block() {
  for (const Crew& c : crews_) {
    now_ = &crews_[c.number];
    if (!c.places.empty()) fail("roles that wait for each other", c.first);
  }
  if (!landings_.empty()) fail("an asynchronous copy that no thread waited for", 0);
  for (const std::vector<Phase>& stages : mbarriers_)
    for (const Phase& p : stages)
      if (!p.landings.empty()) fail("a bulk copy that no warp awaited", 0);
}

bool KernelRun::advance() {
  if (now_->places.empty()) return false;
  Crew::Place& at = now_->places.back();
  if (at.next == at.body->size()) {
    if (at.loop == nullptr || at.value == at.last) {
      now_->places.pop_back();
      return true;
    }
    now_->lanes.set_loop(at.loop->index, ++at.value);
    at.next = 0;
    return true;
  }
  statement_ = &(*at.body)[at.next];
  if (const auto* a = std::get_if<MbarrierWait>(&statement_->what); a != nullptr && !is_over(*a)) return false;
  ++at.next;
  std::visit([&](const auto& what) { run(what); }, statement_->what);
  return true;
}

void KernelRun::run(const Loop& l) {
  const expr::Span range = now_->lanes.range_of(l, now_->first);
  for (std::int64_t t = now_->first; l.has_ends() && t < now_->end; ++t)
    if (now_->lanes.range_of(l, t) != range) fail("threads of one block that part ways", t);
  if (range.low > range.high) return;
  now_->lanes.set_loop(l.index, range.low);
  now_->places.push_back({&l.body, 0, &l, range.low, range.high});
}

void KernelRun::run(const If& branch) {
  const bool taken = now_->lanes.holds(branch.when, now_->first);
  for (std::int64_t t = now_->first; t < now_->end; ++t)
    if (now_->lanes.holds(branch.when, t) != taken) fail("threads of one block that part ways", t);
  if (taken) now_->places.push_back({&branch.body});
}

void KernelRun::run(const Copy& c) {
  for (std::int64_t t = now_->first; t < now_->end; ++t) {
    if (!now_->lanes.holds(c.when, t)) continue;
    const bool inside = now_->lanes.holds(c.inside, t);
    const std::int64_t to = begin_of(c.to, c.elements, t);
    const std::int64_t from = !inside ? 0 : begin_of(c.from, c.elements, t, c.gather ? gathered(*c.gather, t) : 0);
    std::vector<double> values(static_cast<std::size_t>(c.elements), 0.0);
    for (std::int64_t e = 0; inside && e < c.elements; ++e)
      values[static_cast<std::size_t>(e)] = read(static_cast<std::size_t>(c.from.buffer), from + e, t);
    if (c.asynchronous)
      launch(static_cast<std::size_t>(c.to.buffer), to, t, std::move(values));
    else
      for (std::int64_t e = 0; e < c.elements; ++e)
        write(static_cast<std::size_t>(c.to.buffer), to + e, t, values[static_cast<std::size_t>(e)]);
  }
}

void KernelRun::run(const Compute& c) {
  std::vector<double> nodes(c.body.size());
  const auto target = static_cast<std::size_t>(c.target.buffer);
  const base::Dtype dtype = k_.buffers[target].dtype;
  std::vector<base::Dtype> reads;
  for (const Access& a : c.operands) reads.push_back(k_.buffers[static_cast<std::size_t>(a.buffer)].dtype);
  const expr::Numbers numbers = expr::numbers_of(c.body, reads, c.reducer, dtype);
  for (std::int64_t t = now_->first; t < now_->end; ++t) {
    if (!now_->lanes.holds(c.when, t)) continue;
    for (std::size_t n = 0; n < c.body.size(); ++n) nodes[n] = value_of(c, c.body[n], numbers, nodes, t);
    const std::int64_t at = begin_of(c.target, 1, t);
    double value = nodes.back();
    if (c.reducer != expr::Reducer::kNone) value = expr::reduce(c.reducer, numbers, read(target, at, t), c.body, nodes);
    write(target, at, t, expr::round_to(dtype, value));
  }
}

void KernelRun::run(const ReduceLanes& r) {
  if (r.lanes < 1 || (r.lanes & (r.lanes - 1)) != 0 || k_.warp % r.lanes != 0)
    fail(fmt::format("a reduction over {} lanes, which are no power of two or no part of a warp", r.lanes), 0);
  const auto target = static_cast<std::size_t>(r.target.buffer);
  const base::Dtype dtype = k_.buffers[target].dtype;
  const std::vector<expr::Node> body = {{.kind = expr::NodeKind::kRead}};
  const expr::Numbers numbers = expr::numbers_of(body, {dtype}, r.reducer, dtype);
  std::vector<double> values(static_cast<std::size_t>(r.lanes)), next = values;
  for (const std::int64_t first : groups(r.lanes)) {
    for (std::int64_t lane = 0; lane < r.lanes; ++lane)
      values[static_cast<std::size_t>(lane)] = read(target, begin_of(r.target, 1, first + lane), first + lane);
    for (std::size_t apart = 1; apart < values.size(); apart *= 2) {
      for (std::size_t lane = 0; lane < values.size(); ++lane)
        next[lane] =
            expr::round_to(dtype, expr::reduce(r.reducer, numbers, values[lane], body, {values[lane ^ apart]}));
      std::swap(values, next);
    }
    for (std::int64_t lane = 0; lane < r.lanes; ++lane)
      write(target, begin_of(r.target, 1, first + lane), first + lane, values[static_cast<std::size_t>(lane)]);
  }
}

double KernelRun::value_of(const Compute& c, const expr::Node& n, expr::Numbers numbers,
                           const std::vector<double>& nodes, std::int64_t t) {
  if (n.kind == expr::NodeKind::kRead) {
    const Access& a = c.operands[static_cast<std::size_t>(n.index)];
    return read(static_cast<std::size_t>(a.buffer), begin_of(a, 1, t), t);
  }
  if (n.kind == expr::NodeKind::kScalar) return scalars_[static_cast<std::size_t>(n.index)];
  if (n.kind == expr::NodeKind::kIndex)
    return static_cast<double>(now_->lanes.value(c.indices[static_cast<std::size_t>(n.index)], t));
  return expr::apply(c.body, n, numbers, nodes);
}

std::int64_t KernelRun::common(const Affine& a, std::int64_t first, std::int64_t lanes) {
  const std::int64_t value = now_->lanes.value(a, first);
  for (std::int64_t t = first; t < first + lanes; ++t)
    if (now_->lanes.value(a, t) != value) fail("threads of one group that mean different things", t);
  return value;
}

void KernelRun::run(const Barrier&) {
  if (specialized_) fail("a barrier of a role", now_->first);
  for (std::vector<SharedWord>& buffer : shared_)
    for (SharedWord& w : buffer) w.writer = w.reader = kNoThread;
}

void KernelRun::run(const Commit&) {
  if (specialized_) fail("asynchronous copies of a role", now_->first);
  ++group_;
}

void KernelRun::run(const Wait& wait) {
  const auto lands = [&](const std::pair<std::int64_t, Landing>& l) { return l.first < group_ - wait.pending; };
  for (const auto& [group, l] : landings_) {
    if (group >= group_ - wait.pending) continue;
    for (std::size_t e = 0; e < l.values.size(); ++e) {
      const std::int64_t at = l.offset + static_cast<std::int64_t>(e);
      --shared_[l.buffer][static_cast<std::size_t>(at)].in_flight;
      write(l.buffer, at, l.thread, l.values[e]);
    }
  }
  std::erase_if(landings_, lands);
}

void KernelRun::launch(std::size_t buffer, std::int64_t offset, std::int64_t thread, std::vector<double> values) {
  for (std::size_t e = 0; e < values.size(); ++e) {
    const std::int64_t at = offset + static_cast<std::int64_t>(e);
    write(buffer, at, thread, values[e]);
    ++shared_[buffer][static_cast<std::size_t>(at)].in_flight;
  }
  landings_.push_back({group_, {buffer, offset, thread, std::move(values)}});
}

std::int64_t KernelRun::gathered(const Gather& g, std::int64_t t) {
  const double index = read(static_cast<std::size_t>(g.index.buffer), begin_of(g.index, 1, t), t);
  const Buffer& table = k_.buffers[static_cast<std::size_t>(g.table.buffer)];
  const std::int64_t at = begin_of(g.table, 1, t);
  if (read(static_cast<std::size_t>(g.table.buffer), at, t) != index)
    fail(fmt::format("an index of {}, and {}[{}] is another", index, table.name, at), t);
  if (index < 0 || index >= static_cast<double>(g.extent))
    fail(fmt::format("the index {}[{}] is {}, expected 0 to {}", table.name, at, index, g.extent - 1), t);
  return static_cast<std::int64_t>(index) * g.stride;
}

std::int64_t KernelRun::begin_of(const Access& a, std::int64_t elements, std::int64_t t, std::int64_t more) {
  const std::int64_t at = now_->lanes.value(a.offset, t) + more;
  const Buffer& b = k_.buffers[static_cast<std::size_t>(a.buffer)];
  if (at < 0 || at + elements > b.elements)
    fail(fmt::format("{}[{}]..[{}] is outside its {} elements", b.name, at, at + elements - 1, b.elements), t);
  if (b.space != Space::kRegister && at % elements != 0)
    fail(fmt::format("{}[{}] is no multiple of the access's {} elements", b.name, at, elements), t);
  return at;
}

double KernelRun::read(std::size_t buffer, std::int64_t at, std::int64_t t) {
  const Buffer& b = k_.buffers[buffer];
  if (b.space == Space::kShared) {
    SharedWord& w = shared_[buffer][static_cast<std::size_t>(at)];
    if (!w.written) fail(fmt::format("{}[{}] is read and no thread wrote it", b.name, at), t);
    if (w.in_flight > 0) fail(fmt::format("{}[{}] is read while a copy to it is under way", b.name, at), t);
    if (w.writer != kNoThread && w.writer != t && !known(w.written_by, w.written_at))
      fail(fmt::format("{}[{}] is read without a barrier after thread {} wrote it", b.name, at, w.writer), t);
    w.reader = w.reader == kNoThread || w.reader == t ? t : kSeveral;
    w.read_by = now_->number;
    w.read_at = now_->seen[now_->number];
    return w.value;
  }
  check_no_products(buffer, t);
  Array& a = array(buffer);
  const std::size_t i = index(b, at, t);
  if (a.written[i] == 0) fail(fmt::format("{}[{}] is read and no thread wrote it", b.name, at), t);
  return a.value[i];
}

void KernelRun::write(std::size_t buffer, std::int64_t at, std::int64_t t, double value) {
  const Buffer& b = k_.buffers[buffer];
  if (b.space == Space::kShared) {
    SharedWord& w = shared_[buffer][static_cast<std::size_t>(at)];
    check_free(w, buffer, at, t);
    overwrite_others(buffer, at, t);
    w.value = value;
    w.written = true;
    w.published = false;
    w.writer = t;
    w.written_by = now_->number;
    w.written_at = now_->seen[now_->number];
    return;
  }
  check_no_products(buffer, t);
  Array& a = array(buffer);
  const std::size_t i = index(b, at, t);
  if (b.space == Space::kGlobal) {
    if (a.written[i] != 0) fail(fmt::format("{}[{}] is written twice", b.name, at), t);
  }
  a.value[i] = value;
  a.written[i] = 1;
}

void KernelRun::check_free(const SharedWord& w, std::size_t buffer, std::int64_t at, std::int64_t t) const {
  const bool read_by_other =
      (w.reader == kSeveral || (w.reader != kNoThread && w.reader != t)) && !known(w.read_by, w.read_at);
  const bool written_by_other = w.writer != kNoThread && w.writer != t && !known(w.written_by, w.written_at);
  if (read_by_other || written_by_other || w.in_flight > 0)
    fail(fmt::format("{}[{}] is written without a barrier after another thread {} it", k_.buffers[buffer].name, at,
                     read_by_other ? "read" : "wrote"),
         t);
}

void KernelRun::overwrite_others(std::size_t buffer, std::int64_t at, std::int64_t t) {
  const Buffer& b = k_.buffers[buffer];
  const std::int64_t size = base::size_of(b.dtype).n, begin = b.offset_bytes + at * size;
  for (const std::size_t other : overlaps_[buffer]) {
    const Buffer& o = k_.buffers[other];
    const std::int64_t width = base::size_of(o.dtype).n;
    const std::int64_t first = std::max<std::int64_t>(0, base::floor_div(begin - o.offset_bytes, width));
    const std::int64_t end = std::min(o.elements, base::ceil_div(begin + size - o.offset_bytes, width));
    for (std::int64_t e = first; e < end; ++e) {
      SharedWord& w = shared_[other][static_cast<std::size_t>(e)];
      check_free(w, other, e, t);
      w = {};
    }
  }
}

Array& KernelRun::array(std::size_t buffer) {
  const Buffer& b = k_.buffers[buffer];
  return b.space == Space::kGlobal ? memory_[static_cast<std::size_t>(b.global)] : registers_[buffer];
}

std::size_t KernelRun::index(const Buffer& b, std::int64_t at, std::int64_t t) {
  return static_cast<std::size_t>(b.space == Space::kRegister ? t * b.elements + at : at);
}

void KernelRun::fail(std::string_view what, std::int64_t thread) const {
  throw KernelError(fmt::format("kernel {}, block {}, thread {}, at `{}`: {}", k_.name, block_,
                                std::max<std::int64_t>(thread, 0), print(m_, k_, *statement_), what));
}

void interpret(const Module& m, const std::vector<double>& scalars, std::vector<expr::Values>& globals) {
  base::check(scalars.size() == m.scalars.size(), "every scalar has a value");
  base::check(globals.size() == m.globals.size(), "every global has its values");
  std::vector<Array> memory(m.globals.size());
  for (std::size_t g = 0; g < m.globals.size(); ++g) {
    const auto n = static_cast<std::size_t>(m.globals[g].elements);
    const bool given = m.globals[g].role == Role::kInput;
    if (given) base::check(globals[g].size() == n, "an input has all its elements");
    memory[g].value = given ? globals[g] : expr::Values(n, 0.0);
    memory[g].written.assign(n, given ? 1 : 0);
  }
  for (const Kernel& k : m.kernels) KernelRun(m, k, scalars, memory).run();
  for (std::size_t g = 0; g < m.globals.size(); ++g) {
    if (m.globals[g].role == Role::kOutput) {
      const auto missing = std::find(memory[g].written.begin(), memory[g].written.end(), 0);
      if (missing != memory[g].written.end())
        throw KernelError(
            fmt::format("{}[{}] is written by no kernel", m.globals[g].name, missing - memory[g].written.begin()));
    }
    globals[g] = std::move(memory[g].value);
  }
}

}  // namespace tilescope::lower
