// SPDX-License-Identifier: Apache-2.0
#include "lower/detail/block_memory.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/dtype.h"
#include "base/integer.h"

namespace tilescope::lower {

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

void BlockMemory::begin_block() {
  shared_.assign(k_.buffers.size(), {});
  registers_.assign(k_.buffers.size(), {});
  tensor_.assign(k_.buffers.size(), {});
  for (std::size_t b = 0; b < k_.buffers.size(); ++b) {
    const Buffer& buffer = k_.buffers[b];
    const auto n = static_cast<std::size_t>(buffer.elements);
    if (buffer.space == Space::kShared) shared_[b].resize(n);
    if (buffer.space == Space::kTensor) tensor_[b].resize(n * static_cast<std::size_t>(tensor_lanes(k_)));
    if (buffer.space != Space::kRegister) continue;
    registers_[b].value.assign(n * static_cast<std::size_t>(k_.threads), 0);
    registers_[b].written.assign(n * static_cast<std::size_t>(k_.threads), 0);
  }
  landings_.clear();
  group_ = 0;
}

void BlockMemory::end_block() const {
  if (!landings_.empty()) throw Mistake("an asynchronous copy that no thread waited for", 0);
  for (std::size_t b = 0; b < tensor_.size(); ++b)
    for (const Cell& c : tensor_[b])
      if (c.written && !c.read) throw Mistake(fmt::format("sums of {} that no thread reads", k_.buffers[b].name), 0);
}

std::int64_t BlockMemory::begin_of(const Access& a, std::int64_t elements, const Crew& by, std::int64_t t,
                                   std::int64_t more) const {
  const std::int64_t at = by.lanes.value(a.offset, t) + more;
  const Buffer& b = k_.buffers[static_cast<std::size_t>(a.buffer)];
  if (at < 0 || at + elements > b.elements)
    throw Mistake(fmt::format("{}[{}]..[{}] is outside its {} elements", b.name, at, at + elements - 1, b.elements), t);
  if (b.space != Space::kRegister && b.space != Space::kTensor && at % elements != 0)
    throw Mistake(fmt::format("{}[{}] is no multiple of the access's {} elements", b.name, at, elements), t);
  return at;
}

double BlockMemory::read(std::size_t buffer, std::int64_t at, const Crew& by, std::int64_t t) {
  const Buffer& b = k_.buffers[buffer];
  if (b.space == Space::kShared) {
    Word& w = word(buffer, at);
    if (!w.written) throw Mistake(fmt::format("{}[{}] is read and no thread wrote it", b.name, at), t);
    if (w.in_flight > 0) throw Mistake(fmt::format("{}[{}] is read while a copy to it is in flight", b.name, at), t);
    if (w.writer != kNoThread && w.writer != t && !by.knows(w.written_by, w.written_at))
      throw Mistake(fmt::format("{}[{}] is read without a barrier after thread {} wrote it", b.name, at, w.writer), t);
    w.reader = w.reader == kNoThread || w.reader == t ? t : kSeveral;
    w.read_by = by.number;
    w.read_at = by.seen[by.number];
    return w.value;
  }
  check_no_products(buffer, by, t);
  Array& a = array(buffer);
  const std::size_t i = index(b, at, t);
  if (a.written[i] == 0) throw Mistake(fmt::format("{}[{}] is read and no thread wrote it", b.name, at), t);
  return a.value[i];
}

void BlockMemory::write(std::size_t buffer, std::int64_t at, const Crew& by, std::int64_t t, double value) {
  const Buffer& b = k_.buffers[buffer];
  if (b.space == Space::kShared) {
    Word& w = word(buffer, at);
    check_free(w, buffer, at, by, t);
    overwrite_others(buffer, at, by, t);
    w.value = value;
    w.written = true;
    w.published = false;
    w.writer = t;
    w.written_by = by.number;
    w.written_at = by.seen[by.number];
    return;
  }
  check_no_products(buffer, by, t);
  if (by.fragments.contains(static_cast<int>(buffer)))
    throw Mistake(fmt::format("{} changes while products in flight read it", b.name), t);
  Array& a = array(buffer);
  const std::size_t i = index(b, at, t);
  if (b.space == Space::kGlobal && a.written[i] != 0)
    throw Mistake(fmt::format("{}[{}] is written twice", b.name, at), t);
  a.value[i] = value;
  a.written[i] = 1;
}

double BlockMemory::read_published(std::size_t buffer, std::int64_t at, const Crew& by) {
  const Buffer& b = k_.buffers[buffer];
  if (at < 0 || at >= b.elements)
    throw Mistake(fmt::format("{}[{}] is outside its {} elements", b.name, at, b.elements), by.first);
  // Not as one of its threads: what no thread but that one knows of is not there yet.
  const double value = read(buffer, at, by, kSeveral);
  if (!word(buffer, at).published)
    throw Mistake(fmt::format("{}[{}] is read and was not published", b.name, at), by.first);
  return value;
}

double& BlockMemory::sum(std::size_t buffer, std::int64_t at, std::int64_t t, bool adds) {
  const std::size_t i = index(k_.buffers[buffer], at, t);
  if (!adds) {
    registers_[buffer].value[i] = 0;
    registers_[buffer].written[i] = 1;
  }
  if (registers_[buffer].written[i] == 0)
    throw Mistake(fmt::format("{}[{}] is added to and no thread wrote it", k_.buffers[buffer].name, at), t);
  return registers_[buffer].value[i];
}

double& BlockMemory::tensor_sum(std::size_t buffer, std::int64_t at, std::int64_t lane, bool adds, const Crew& by) {
  Cell& c = cell(buffer, at, lane);
  const std::string& name = k_.buffers[buffer].name;
  if (c.read && !by.knows(c.read_by, c.read_at))
    throw Mistake(fmt::format("{}[{}] is added to and may still be read", name, at), by.first);
  if (!adds) c.value = 0;
  if (adds && !c.written) throw Mistake(fmt::format("{}[{}] is added to and no product wrote it", name, at), by.first);
  c.written = true;
  c.read = false;
  c.written_by = by.number;
  c.written_at = by.seen[by.number];
  return c.value;
}

double BlockMemory::read_tensor(std::size_t buffer, std::int64_t at, const Crew& by, std::int64_t t) {
  Cell& c = cell(buffer, at, t % tensor_lanes(k_));
  const std::string& name = k_.buffers[buffer].name;
  if (!c.written) throw Mistake(fmt::format("{}[{}] is read and no product wrote it", name, at), t);
  if (!by.knows(c.written_by, c.written_at))
    throw Mistake(fmt::format("{}[{}] is read before the commit of its products was waited for", name, at), t);
  c.read = true;
  c.read_by = by.number;
  c.read_at = by.seen[by.number];
  return c.value;
}

void BlockMemory::synchronize(const Crew& by) {
  if (by.of_role) throw Mistake("a barrier of a role", by.first);
  for (std::vector<Word>& buffer : shared_)
    for (Word& w : buffer) w.writer = w.reader = kNoThread;
}

void BlockMemory::publish(const Crew& by) {
  for (std::vector<Word>& buffer : shared_)
    for (Word& w : buffer)
      if (w.in_flight == 0 && w.written_by == by.number) w.published = true;
}

void BlockMemory::launch(const Landing& copy, const Crew& by) {
  for (std::size_t e = 0; e < copy.values.size(); ++e) {
    const std::int64_t at = copy.offset + static_cast<std::int64_t>(e);
    write(copy.buffer, at, by, copy.thread, copy.values[e]);
    ++word(copy.buffer, at).in_flight;
  }
  landings_.emplace_back(group_, copy);
}

void BlockMemory::commit(const Crew& by) {
  if (by.of_role) throw Mistake("asynchronous copies of a role", by.first);
  ++group_;
}

void BlockMemory::wait(std::int64_t pending, const Crew& by) {
  const auto lands = [&](const std::pair<std::int64_t, Landing>& l) { return l.first < group_ - pending; };
  for (const std::pair<std::int64_t, Landing>& landing : landings_) {
    if (!lands(landing)) continue;
    const Landing& l = landing.second;
    for (std::size_t e = 0; e < l.values.size(); ++e) {
      const std::int64_t at = l.offset + static_cast<std::int64_t>(e);
      --word(l.buffer, at).in_flight;
      write(l.buffer, at, by, l.thread, l.values[e]);
    }
  }
  std::erase_if(landings_, lands);
}

void BlockMemory::deliver(std::size_t buffer, std::int64_t at, const Crew& by) {
  Word& w = word(buffer, at);
  const std::string& name = k_.buffers[buffer].name;
  if (w.in_flight > 0)
    throw Mistake(fmt::format("{}[{}] is copied to while another copy is in flight", name, at), by.first);
  if (w.reader != kNoThread && w.read_at >= by.seen[w.read_by])
    throw Mistake(fmt::format("{}[{}] is copied to and may still be read", name, at), by.first);
  overwrite_others(buffer, at, by, by.first);
  w = {};
  w.written = w.published = true;
  w.in_flight = 1;
}

void BlockMemory::land(const Landing& load) {
  for (std::size_t e = 0; e < load.values.size(); ++e) {
    Word& w = word(load.buffer, load.offset + static_cast<std::int64_t>(e));
    --w.in_flight;
    w.value = load.values[e];
  }
}

void BlockMemory::check_free(const Word& w, std::size_t buffer, std::int64_t at, const Crew& by, std::int64_t t) const {
  const bool read_by_other =
      (w.reader == kSeveral || (w.reader != kNoThread && w.reader != t)) && !by.knows(w.read_by, w.read_at);
  const bool written_by_other = w.writer != kNoThread && w.writer != t && !by.knows(w.written_by, w.written_at);
  if (read_by_other || written_by_other || w.in_flight > 0)
    throw Mistake(fmt::format("{}[{}] is written without a barrier after another thread {} it", k_.buffers[buffer].name,
                              at, read_by_other ? "read" : "wrote"),
                  t);
}

void BlockMemory::check_no_products(std::size_t buffer, const Crew& by, std::int64_t t) const {
  if (by.products_of && static_cast<std::size_t>(*by.products_of) == buffer)
    throw Mistake(fmt::format("{} is used while products are added to it", k_.buffers[buffer].name), t);
}

void BlockMemory::overwrite_others(std::size_t buffer, std::int64_t at, const Crew& by, std::int64_t t) {
  const Buffer& b = k_.buffers[buffer];
  const std::int64_t size = base::size_of(b.dtype).n, begin = b.offset_bytes + at * size;
  for (const std::size_t other : overlaps_[buffer]) {
    const Buffer& o = k_.buffers[other];
    const std::int64_t width = base::size_of(o.dtype).n;
    const std::int64_t first = std::max<std::int64_t>(0, base::floor_div(begin - o.offset_bytes, width));
    const std::int64_t end = std::min(o.elements, base::ceil_div(begin + size - o.offset_bytes, width));
    for (std::int64_t e = first; e < end; ++e) {
      Word& w = word(other, e);
      check_free(w, other, e, by, t);
      w = {};
    }
  }
}

Array& BlockMemory::array(std::size_t buffer) {
  const Buffer& b = k_.buffers[buffer];
  return b.space == Space::kGlobal ? globals_[static_cast<std::size_t>(b.global)] : registers_[buffer];
}

std::size_t BlockMemory::index(const Buffer& b, std::int64_t at, std::int64_t t) {
  return static_cast<std::size_t>(b.space == Space::kRegister ? t * b.elements + at : at);
}

}  // namespace tilescope::lower
