#include "lower/interpret.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "base/integer.h"
#include "lower/affine.h"
#include "lower/lanes.h"
#include "lower/matrix_layout.h"
#include "lower/print.h"

namespace tilescope::lower {
namespace {

constexpr std::int64_t kNobody = -1, kSeveral = -2;

// One word of a block's scratchpad and who touched it since the last barrier.
struct SharedWord {
  double value = 0;
  bool written = false;
  std::int64_t writer = kNobody;  // thread
  std::int64_t reader = kNobody;  // thread, or several
  std::int64_t read_at = 0;       // arrivals of the reader's role before
  std::size_t read_by = 0;        // role
  bool published = false;         // since it was written
  int in_flight = 0;              // asynchronous copies on their way here
};

// One array that a block or a thread sees.
struct Array {
  std::vector<double> value;
  std::vector<char> written;
};

// What an asynchronous copy brings, until a wait lets it land.
struct Landing {
  std::size_t buffer = 0;
  std::int64_t offset = 0, thread = 0;
  std::vector<double> values;
};

// How many arrivals of each role somebody knows to have happened.
using Clock = std::vector<std::int64_t>;

// Threads that go through a body together: all of a block, or those of a role.
struct Crew {
  struct Place {
    const std::vector<Statement>* body = nullptr;
    std::size_t next = 0;
    const Loop* loop = nullptr;
    std::int64_t value = 0;  // of the loop
  };
  std::size_t number = 0;
  std::int64_t first = 0, end = 0;  // threads
  Lanes lanes;
  std::vector<Place> places;  // the innermost last
  Clock seen;
};

// The phase of a signal's slot that is under way, and what those know who awaited the ones before.
struct Phase {
  std::int64_t number = 0;
  std::int64_t arrived = 0, to_come = 0, asked = 0;  // warps, bytes
  std::vector<Landing> landings;
  Clock arriving, over;
};

class KernelRun {
 public:
  KernelRun(const Module& m, const Kernel& k, const std::vector<double>& scalars, std::vector<Array>& memory)
      : m_(m), k_(k), scalars_(scalars), memory_(memory), all_(k, 0, k.threads) {}

  void run() {
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

 private:
  void begin_block() {
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
    products_of_.reset();
    signals_.clear();
    for (const Signal& s : k_.signals) signals_.emplace_back(static_cast<std::size_t>(s.slots));
    crews_.clear();
    crews_.push_back({0, 0, k_.threads, all_, {{&k_.body}}, {0}});
    parted_ = false;
  }

  void end_block() {
    for (const Crew& c : crews_) {
      now_ = &crews_[c.number];
      if (!c.places.empty()) fail("roles that wait for each other", c.first);
    }
    if (!landings_.empty()) fail("an asynchronous copy that nobody waited for", 0);
    for (const std::vector<Phase>& slots : signals_)
      for (const Phase& p : slots)
        if (!p.landings.empty()) fail("a bulk copy that nobody awaited", 0);
  }

  // The crew's next statement; false where it is through, or waits for others.
  bool advance() {
    if (now_->places.empty()) return false;
    Crew::Place& at = now_->places.back();
    if (at.next == at.body->size()) {
      if (at.loop == nullptr || at.value == range_of_loop(*at.loop).high) {
        now_->places.pop_back();
        return true;
      }
      now_->lanes.set_loop(at.loop->index, ++at.value);
      at.next = 0;
      return true;
    }
    statement_ = &(*at.body)[at.next];
    if (const auto* a = std::get_if<Await>(&statement_->what); a != nullptr && !is_over(*a)) return false;
    ++at.next;
    std::visit([&](const auto& what) { run(what); }, statement_->what);
    return true;
  }

  expr::Span range_of_loop(const Loop& l) const { return k_.indices[static_cast<std::size_t>(l.index)].range; }

  void run(const Loop& l) {
    const expr::Span range = range_of_loop(l);
    if (range.low > range.high) return;
    now_->lanes.set_loop(l.index, range.low);
    now_->places.push_back({&l.body, 0, &l, range.low});
  }

  void run(const If& branch) {
    const bool taken = now_->lanes.holds(branch.when, now_->first);
    for (std::int64_t t = now_->first; t < now_->end; ++t)
      if (now_->lanes.holds(branch.when, t) != taken) fail("threads of one block that part ways", t);
    if (taken) now_->places.push_back({&branch.body});
  }

  void run(const WarpRoles& w) {
    if (parted_ || now_->places.size() > 1 || now_->places.back().next < now_->places.back().body->size())
      fail("roles that are not the end of a kernel", 0);
    parted_ = true;
    std::vector<Crew> crews;
    std::int64_t end = 0;
    for (const WarpRole& r : w.roles) {
      if (r.first_thread < end || r.first_thread % kMatrixLanes != 0 || r.threads % kMatrixLanes != 0)
        fail(fmt::format("role {} is not of warps of its own", r.name), r.first_thread);
      end = r.first_thread + r.threads;
      crews.push_back({crews.size(), r.first_thread, end, now_->lanes, {{&r.body}}, Clock(w.roles.size(), 0)});
    }
    if (end > k_.threads) fail("a role of more threads than there are", end);
    for (std::vector<Phase>& slots : signals_)
      for (Phase& p : slots) p.arriving = p.over = Clock(w.roles.size(), 0);
    crews_ = std::move(crews);
    now_ = crews_.data();
  }

  // --- signals

  // What the crew's threads have in common.
  std::int64_t common(const Affine& a) { return common(a, now_->first, now_->end - now_->first); }

  Phase& phase_of(int signal, std::int64_t use) {
    std::vector<Phase>& slots = signals_[static_cast<std::size_t>(signal)];
    return slots[static_cast<std::size_t>(base::floor_mod(use, std::ssize(slots)))];
  }
  std::int64_t phase_number(int signal, std::int64_t use) const {
    return base::floor_div(use, std::ssize(signals_[static_cast<std::size_t>(signal)]));
  }

  // The phase that a use of a signal is, which has to be under way.
  Phase& under_way(int signal, const Affine& number) {
    if (!parted_) fail("a signal where there are no roles", 0);
    const std::int64_t use = common(number);
    Phase& p = phase_of(signal, use);
    settle(signal, p);
    if (p.number != phase_number(signal, use))
      fail(fmt::format("use {} of {}, of whose slot phase {} is under way", use,
                       k_.signals[static_cast<std::size_t>(signal)].name, p.number),
           now_->first);
    return p;
  }

  // Ends the phase where all have arrived and all has come: what was asked for comes now.
  void settle(int signal, Phase& p) {
    const Signal& s = k_.signals[static_cast<std::size_t>(signal)];
    if (p.arrived > s.arrivals) fail(fmt::format("more arrive for {} than it waits for", s.name), now_->first);
    if (p.arrived < s.arrivals || p.asked != p.to_come) return;
    for (const Landing& l : p.landings)
      for (std::size_t e = 0; e < l.values.size(); ++e) {
        SharedWord& w = shared_[l.buffer][static_cast<std::size_t>(l.offset) + e];
        --w.in_flight;
        w.value = l.values[e];
      }
    Phase next;
    next.number = p.number + 1;
    next.arriving = next.over = p.arriving;
    p = std::move(next);
  }

  bool is_over(const Await& a) {
    if (!parted_) fail("a signal where there are no roles", 0);
    const std::int64_t use = common(a.use);
    if (use < 0) return true;
    Phase& p = phase_of(a.signal, use);
    settle(a.signal, p);
    const std::int64_t passed = p.number - phase_number(a.signal, use);
    if (passed > 1) fail("a use that is awaited after its slot's next one is over too", now_->first);
    return passed == 1;
  }

  void run(const Await& a) {
    if (common(a.use) < 0) return;
    const Phase& p = phase_of(a.signal, common(a.use));
    for (std::size_t c = 0; c < crews_.size(); ++c) now_->seen[c] = std::max(now_->seen[c], p.over[c]);
  }

  void run(const Arrive& a) {
    Phase& p = under_way(a.signal, a.use);
    const std::int64_t warps = (now_->end - now_->first) / kMatrixLanes;
    p.arrived += warps;
    p.to_come += a.bytes * warps;
    ++now_->seen[now_->number];
    for (std::size_t c = 0; c < crews_.size(); ++c) p.arriving[c] = std::max(p.arriving[c], now_->seen[c]);
  }

  void run(const BulkCopy& b) {
    Phase& p = under_way(b.signal, b.use);
    const auto to = static_cast<std::size_t>(b.to.buffer);
    const std::int64_t elements = b.elements();
    Landing l{to, common(b.to.offset), now_->first, std::vector<double>(static_cast<std::size_t>(elements), 0.0)};
    begin_of({b.to.buffer, constant(l.offset)}, elements, now_->first);
    for (std::int64_t e = 0; e < elements; ++e) {
      std::int64_t rest = e, from = 0;
      bool inside = true;
      for (std::size_t d = b.dims.size(); d-- > 0; rest /= b.dims[d].box) {
        const std::int64_t at = common(b.dims[d].at) + rest % b.dims[d].box;
        inside = inside && at >= 0 && at < b.dims[d].extent;
        from += at * b.dims[d].stride;
      }
      if (inside) l.values[static_cast<std::size_t>(e)] = read(static_cast<std::size_t>(b.from), from, now_->first);
      bring(to, l.offset + e);
    }
    p.asked += elements * base::size_of(k_.buffers[to].dtype).n;
    p.landings.push_back(std::move(l));
  }

  // A bulk copy is on its way to the word, which nobody may still be reading.
  void bring(std::size_t buffer, std::int64_t at) {
    SharedWord& w = shared_[buffer][static_cast<std::size_t>(at)];
    const std::string& name = k_.buffers[buffer].name;
    if (w.in_flight > 0)
      fail(fmt::format("{}[{}] is copied to while another copy is under way", name, at), now_->first);
    if (w.reader != kNobody && w.read_at >= now_->seen[w.read_by])
      fail(fmt::format("{}[{}] is copied to and may still be read", name, at), now_->first);
    w = {};
    w.written = w.published = true;
    w.in_flight = 1;
  }

  void run(const Copy& c) {
    for (std::int64_t t = now_->first; t < now_->end; ++t) {
      if (!now_->lanes.holds(c.when, t)) continue;
      const bool inside = now_->lanes.holds(c.inside, t);
      const std::int64_t to = begin_of(c.to, c.elements, t);
      const std::int64_t from = inside ? begin_of(c.from, c.elements, t) : 0;
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

  void run(const Compute& c) {
    std::vector<double> nodes(c.body.size());
    const auto target = static_cast<std::size_t>(c.target.buffer);
    const base::Dtype dtype = k_.buffers[target].dtype;
    std::vector<base::Dtype> reads;
    for (const Access& a : c.operands) reads.push_back(k_.buffers[static_cast<std::size_t>(a.buffer)].dtype);
    const expr::Numbers numbers = expr::numbers_of(c.body, reads, c.reducer, dtype);
    for (std::int64_t t = now_->first; t < now_->end; ++t) {
      for (std::size_t n = 0; n < c.body.size(); ++n) nodes[n] = value_of(c, c.body[n], numbers, nodes, t);
      const std::int64_t at = begin_of(c.target, 1, t);
      double value = nodes.back();
      if (c.reducer != expr::Reducer::kNone) value = expr::reduce(c.reducer, numbers, read(target, at, t), value);
      write(target, at, t, expr::round_to(dtype, value));
    }
  }

  double value_of(const Compute& c, const expr::Node& n, expr::Numbers numbers, const std::vector<double>& nodes,
                  std::int64_t t) {
    if (n.kind == expr::NodeKind::kRead) {
      const Access& a = c.operands[static_cast<std::size_t>(n.index)];
      return read(static_cast<std::size_t>(a.buffer), begin_of(a, 1, t), t);
    }
    if (n.kind == expr::NodeKind::kScalar) return scalars_[static_cast<std::size_t>(n.index)];
    return expr::apply(n, numbers, nodes);
  }

  // The first threads of the warps.
  std::vector<std::int64_t> warps() const {
    if ((now_->end - now_->first) % kMatrixLanes != 0) fail("a warp that lacks lanes", now_->end - 1);
    std::vector<std::int64_t> out;
    for (std::int64_t t = now_->first; t < now_->end; t += kMatrixLanes) out.push_back(t);
    return out;
  }

  void run(const LoadMatrices& l) {
    const auto to = static_cast<std::size_t>(l.rows.to.buffer);
    const std::int64_t row = l.rows.elements, lanes = kMatrixRows * l.count;
    const std::int64_t each = row * kMatrixRegisterBytes / kMatrixRowBytes;  // of a lane, of one matrix
    if (l.transposed && each != 2) fail("transposed elements of other than two bytes", 0);
    std::vector<double> rows(static_cast<std::size_t>(lanes * row));
    for (const std::int64_t first : warps()) {
      for (std::int64_t lane = 0; lane < kMatrixLanes; ++lane) {
        const std::int64_t t = first + lane;
        if (now_->lanes.holds(l.rows.when, t) != (lane < lanes)) fail("other lanes than those that read rows", t);
        if (lane >= lanes) continue;
        const std::int64_t from = begin_of(l.rows.from, row, t);
        for (std::int64_t e = 0; e < row; ++e)
          rows[static_cast<std::size_t>(lane * row + e)] =
              read(static_cast<std::size_t>(l.rows.from.buffer), from + e, t);
      }
      for (std::int64_t t = first; t < first + kMatrixLanes; ++t) {
        const std::int64_t at = begin_of(l.rows.to, l.count * each, t);
        const std::int64_t sharing = row / each;  // lanes, of a row
        const std::int64_t line = (t - first) / sharing, begin = (t - first) % sharing * each;
        for (std::int64_t n = 0; n < l.count * each; ++n) {
          const std::int64_t matrix = n / each * kMatrixRows, e = begin + n % each;
          const std::int64_t place = l.transposed ? (matrix + e) * row + line : (matrix + line) * row + e;
          write(to, at + n, t, rows[static_cast<std::size_t>(place)]);
        }
      }
    }
  }

  void run(const MultiplyMatrices& m) {
    const auto place = [](std::int64_t row, std::int64_t column, std::int64_t columns) {
      return static_cast<std::size_t>(row * columns + column);
    };
    const auto [rows, columns, depth] = m.shape;
    const std::int64_t bytes = base::size_of(k_.buffers[static_cast<std::size_t>(m.a.buffer)].dtype).n;
    const auto sums = static_cast<std::size_t>(m.d.buffer);
    const base::Dtype dtype = k_.buffers[sums].dtype;
    const expr::Numbers numbers = base::is_integer(dtype) ? expr::Numbers::kInt32 : expr::Numbers::kReal;
    std::vector<double> a(static_cast<std::size_t>(rows * depth)), b(static_cast<std::size_t>(depth * columns));
    for (const std::int64_t first : warps()) {
      const auto gather = [&](const Access& from, std::vector<double>& matrix, auto place_of, std::int64_t across) {
        const std::int64_t each = lane_elements(std::ssize(matrix));
        for (std::int64_t lane = 0; lane < kMatrixLanes; ++lane) {
          const std::int64_t at = begin_of(from, each, first + lane);
          for (std::int64_t n = 0; n < each; ++n) {
            const MatrixPlace p = place_of(lane, n, bytes);
            matrix[place(p.row, p.column, across)] = read(static_cast<std::size_t>(from.buffer), at + n, first + lane);
          }
        }
      };
      gather(m.a, a, &place_in_a, depth);
      gather(m.b, b, &place_in_b, columns);
      for (std::int64_t lane = 0; lane < kMatrixLanes; ++lane) {
        const std::int64_t each = lane_elements(rows * columns), at = begin_of(m.d, each, first + lane);
        for (std::int64_t n = 0; n < each; ++n) {
          const MatrixPlace p = place_in_d(lane, n);
          double sum = read(sums, at + n, first + lane);
          for (std::int64_t k = 0; k < depth; ++k)
            sum = expr::reduce(expr::Reducer::kSum, numbers, sum,
                               a[place(p.row, k, depth)] * b[place(k, p.column, columns)]);
          write(sums, at + n, first + lane, expr::round_to(dtype, sum));
        }
      }
    }
  }

  void run(const BeginProducts& begin) {
    if (products_of_) fail("products begin before others have ended", 0);
    products_of_ = begin.sums;
  }

  void run(const EndProducts& end) {
    if (products_of_ != end.sums) fail("the end of products that did not begin", 0);
    products_of_.reset();
  }

  void run(const Publish&) {
    for (std::vector<SharedWord>& buffer : shared_)
      for (SharedWord& w : buffer) w.published = w.in_flight == 0;
  }

  // The factor's element of that place along m or n, and along k.
  double read(const StagedFactor& f, std::int64_t first, std::int64_t along, std::int64_t deep) {
    const auto buffer = static_cast<std::size_t>(f.at.buffer);
    const std::int64_t swizzled = k_.buffers[buffer].swizzled_row;
    const std::int64_t columns =
        (swizzled > 0 ? swizzled : kMatrixRowBytes) / base::size_of(k_.buffers[buffer].dtype).n;
    const std::int64_t row = f.transposed ? deep : along, column = f.transposed ? along : deep;
    const std::int64_t at = first + row / kMatrixRows * (f.transposed ? f.deep : f.along) +
                            row % kMatrixRows * columns + column / columns * (f.transposed ? f.along : f.deep) +
                            column % columns;
    if (at < 0 || at >= k_.buffers[buffer].elements)
      fail(fmt::format("{}[{}] is outside its {} elements", k_.buffers[buffer].name, at, k_.buffers[buffer].elements),
           0);
    SharedWord& w = shared_[buffer][static_cast<std::size_t>(at)];
    const double value = read(buffer, at, kSeveral);
    if (!w.published) fail(fmt::format("{}[{}] is read and was not published", k_.buffers[buffer].name, at), 0);
    return value;
  }

  void run(const MultiplyStaged& m) {
    if (products_of_ != m.d.buffer) fail("products that did not begin", 0);
    if ((now_->end - now_->first) % m.lanes != 0) fail("a group that lacks lanes", now_->end - 1);
    const auto place = [](std::int64_t row, std::int64_t column, std::int64_t columns) {
      return static_cast<std::size_t>(row * columns + column);
    };
    const auto [rows, columns, depth] = m.shape;
    const auto sums = static_cast<std::size_t>(m.d.buffer);
    const base::Dtype dtype = k_.buffers[sums].dtype;
    const expr::Numbers numbers = base::is_integer(dtype) ? expr::Numbers::kInt32 : expr::Numbers::kReal;
    std::vector<double> a(static_cast<std::size_t>(rows * depth)), b(static_cast<std::size_t>(depth * columns));
    for (std::int64_t group = now_->first; group < now_->end; group += m.lanes) {
      const std::int64_t a_begin = common(m.a.at.offset, group, m.lanes),
                         b_begin = common(m.b.at.offset, group, m.lanes);
      for (std::int64_t k = 0; k < depth; ++k) {
        for (std::int64_t r = 0; r < rows; ++r) a[place(r, k, depth)] = read(m.a, a_begin, r, k);
        for (std::int64_t c = 0; c < columns; ++c) b[place(k, c, columns)] = read(m.b, b_begin, c, k);
      }
      for (std::int64_t lane = 0; lane < m.lanes; ++lane) {
        const std::int64_t each = rows * columns / m.lanes, at = begin_of(m.d, each, group + lane);
        for (std::int64_t n = 0; n < each; ++n) {
          const MatrixPlace p = place_in_d(lane, n);
          const std::size_t held = index(k_.buffers[sums], at + n, group + lane);
          if (registers_[sums].written[held] == 0)
            fail(fmt::format("{}[{}] is added to and nobody wrote it", k_.buffers[sums].name, at + n), group + lane);
          double& sum = registers_[sums].value[held];
          for (std::int64_t k = 0; k < depth; ++k)
            sum = expr::reduce(expr::Reducer::kSum, numbers, sum,
                               a[place(p.row, k, depth)] * b[place(k, p.column, columns)]);
          sum = expr::round_to(dtype, sum);
        }
      }
    }
  }

  // The value that all lanes of a group have.
  std::int64_t common(const Affine& a, std::int64_t first, std::int64_t lanes) {
    const std::int64_t value = now_->lanes.value(a, first);
    for (std::int64_t t = first; t < first + lanes; ++t)
      if (now_->lanes.value(a, t) != value) fail("threads of one group that mean different things", t);
    return value;
  }

  void run(const Barrier&) {
    if (parted_) fail("a barrier of a role", now_->first);
    for (std::vector<SharedWord>& buffer : shared_)
      for (SharedWord& w : buffer) w.writer = w.reader = kNobody;
  }

  void run(const Commit&) {
    if (parted_) fail("asynchronous copies of a role", now_->first);
    ++group_;
  }

  void run(const Wait& wait) {
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

  // The copy may land at any time from now on: a write now, and one at its wait.
  void launch(std::size_t buffer, std::int64_t offset, std::int64_t thread, std::vector<double> values) {
    for (std::size_t e = 0; e < values.size(); ++e) {
      const std::int64_t at = offset + static_cast<std::int64_t>(e);
      write(buffer, at, thread, values[e]);
      ++shared_[buffer][static_cast<std::size_t>(at)].in_flight;
    }
    landings_.push_back({group_, {buffer, offset, thread, std::move(values)}});
  }

  std::int64_t begin_of(const Access& a, std::int64_t elements, std::int64_t t) {
    const std::int64_t at = now_->lanes.value(a.offset, t);
    const Buffer& b = k_.buffers[static_cast<std::size_t>(a.buffer)];
    if (at < 0 || at + elements > b.elements)
      fail(fmt::format("{}[{}]..[{}] is outside its {} elements", b.name, at, at + elements - 1, b.elements), t);
    if (b.space != Space::kRegister && at % elements != 0)
      fail(fmt::format("{}[{}] is no multiple of the access's {} elements", b.name, at, elements), t);
    return at;
  }

  double read(std::size_t buffer, std::int64_t at, std::int64_t t) {
    const Buffer& b = k_.buffers[buffer];
    if (b.space == Space::kShared) {
      SharedWord& w = shared_[buffer][static_cast<std::size_t>(at)];
      if (!w.written) fail(fmt::format("{}[{}] is read and nobody wrote it", b.name, at), t);
      if (w.in_flight > 0) fail(fmt::format("{}[{}] is read while a copy to it is under way", b.name, at), t);
      if (w.writer != kNobody && w.writer != t)
        fail(fmt::format("{}[{}] is read without a barrier after thread {} wrote it", b.name, at, w.writer), t);
      w.reader = w.reader == kNobody || w.reader == t ? t : kSeveral;
      w.read_by = now_->number;
      w.read_at = now_->seen[now_->number];
      return w.value;
    }
    check_no_products(buffer, t);
    Array& a = array(buffer);
    const std::size_t i = index(b, at, t);
    if (a.written[i] == 0) fail(fmt::format("{}[{}] is read and nobody wrote it", b.name, at), t);
    return a.value[i];
  }

  void write(std::size_t buffer, std::int64_t at, std::int64_t t, double value) {
    const Buffer& b = k_.buffers[buffer];
    if (b.space == Space::kShared) {
      SharedWord& w = shared_[buffer][static_cast<std::size_t>(at)];
      const bool read_by_other = w.reader == kSeveral || (w.reader != kNobody && w.reader != t);
      const bool written_by_other = w.writer != kNobody && w.writer != t;
      if (read_by_other || written_by_other || w.in_flight > 0)
        fail(fmt::format("{}[{}] is written without a barrier after another thread {} it", b.name, at,
                         read_by_other ? "read" : "wrote"),
             t);
      w.value = value;
      w.written = true;
      w.published = false;
      w.writer = t;
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

  // What products are added to is nobody else's until they have ended.
  void check_no_products(std::size_t buffer, std::int64_t t) const {
    if (products_of_ && static_cast<std::size_t>(*products_of_) == buffer)
      fail(fmt::format("{} is used while products are added to it", k_.buffers[buffer].name), t);
  }

  Array& array(std::size_t buffer) {
    const Buffer& b = k_.buffers[buffer];
    return b.space == Space::kGlobal ? memory_[static_cast<std::size_t>(b.global)] : registers_[buffer];
  }

  static std::size_t index(const Buffer& b, std::int64_t at, std::int64_t t) {
    return static_cast<std::size_t>(b.space == Space::kRegister ? t * b.elements + at : at);
  }

  [[noreturn]] void fail(std::string_view what, std::int64_t thread) const {
    throw KernelError(fmt::format("kernel {}, block {}, thread {}, at `{}`: {}", k_.name, block_,
                                  std::max<std::int64_t>(thread, 0), print(m_, k_, *statement_), what));
  }

  const Module& m_;
  const Kernel& k_;
  const std::vector<double>& scalars_;
  std::vector<Array>& memory_;  // by global
  Lanes all_;                   // of a block, before its threads go anywhere
  std::vector<Crew> crews_;     // of the block: one, or its roles
  Crew* now_ = nullptr;         // whose turn it is
  bool parted_ = false;
  std::vector<std::vector<Phase>> signals_;                 // by signal and slot
  std::vector<std::vector<SharedWord>> shared_;             // by buffer
  std::vector<Array> registers_;                            // by buffer, thread by thread
  std::vector<std::pair<std::int64_t, Landing>> landings_;  // with their group
  std::int64_t group_ = 0;
  std::optional<int> products_of_;  // buffer, between BeginProducts and EndProducts
  std::int64_t block_ = 0;
  const Statement* statement_ = nullptr;
};

}  // namespace

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
