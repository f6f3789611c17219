#include "lower/interpret.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
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

class KernelRun {
 public:
  KernelRun(const Module& m, const Kernel& k, const std::vector<double>& scalars, std::vector<Array>& memory)
      : m_(m), k_(k), scalars_(scalars), memory_(memory), lanes_(k, 0, k.threads) {}

  void run() {
    for (block_ = 0; block_ < k_.blocks; ++block_) {
      lanes_.set_block(block_);
      begin_block();
      execute(k_.body);
      if (!landings_.empty()) fail("an asynchronous copy that nobody waited for", 0);
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
  }

  void execute(const std::vector<Statement>& body) {
    for (const Statement& s : body) {
      statement_ = &s;
      std::visit([&](const auto& what) { run(what); }, s.what);
    }
  }

  void run(const Loop& l) {
    const expr::Span range = k_.indices[static_cast<std::size_t>(l.index)].range;
    for (std::int64_t i = range.low; i <= range.high; ++i) {
      lanes_.set_loop(l.index, i);
      execute(l.body);
    }
  }

  void run(const If& branch) {
    const bool taken = lanes_.holds(branch.when, 0);
    for (std::int64_t t = 1; t < k_.threads; ++t)
      if (lanes_.holds(branch.when, t) != taken) fail("threads of one block that part ways", t);
    if (taken) execute(branch.body);
  }

  void run(const Copy& c) {
    for (std::int64_t t = 0; t < k_.threads; ++t) {
      if (!lanes_.holds(c.when, t)) continue;
      const bool inside = lanes_.holds(c.inside, t);
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
    for (std::int64_t t = 0; t < k_.threads; ++t) {
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
    if (k_.threads % kMatrixLanes != 0) fail("a warp that lacks lanes", k_.threads - 1);
    std::vector<std::int64_t> out;
    for (std::int64_t t = 0; t < k_.threads; t += kMatrixLanes) out.push_back(t);
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
        if (lanes_.holds(l.rows.when, t) != (lane < lanes)) fail("other lanes than those that read rows", t);
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
    const std::int64_t columns = kMatrixRowBytes / base::size_of(k_.buffers[buffer].dtype).n;
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
    if (k_.threads % m.lanes != 0) fail("a group that lacks lanes", k_.threads - 1);
    const auto place = [](std::int64_t row, std::int64_t column, std::int64_t columns) {
      return static_cast<std::size_t>(row * columns + column);
    };
    const auto [rows, columns, depth] = m.shape;
    const auto sums = static_cast<std::size_t>(m.d.buffer);
    const base::Dtype dtype = k_.buffers[sums].dtype;
    const expr::Numbers numbers = base::is_integer(dtype) ? expr::Numbers::kInt32 : expr::Numbers::kReal;
    std::vector<double> a(static_cast<std::size_t>(rows * depth)), b(static_cast<std::size_t>(depth * columns));
    for (std::int64_t group = 0; group < k_.threads; group += m.lanes) {
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
    const std::int64_t value = lanes_.value(a, first);
    for (std::int64_t t = first; t < first + lanes; ++t)
      if (lanes_.value(a, t) != value) fail("lanes of one group that multiply different factors", t);
    return value;
  }

  void run(const Barrier&) {
    for (std::vector<SharedWord>& buffer : shared_)
      for (SharedWord& w : buffer) w.writer = w.reader = kNobody;
  }

  void run(const Commit&) { ++group_; }

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
    const std::int64_t at = lanes_.value(a.offset, t);
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
  Lanes lanes_;
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
