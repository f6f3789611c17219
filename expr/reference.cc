// SPDX-License-Identifier: Apache-2.0
#include "expr/reference.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/integer.h"
#include "expr/extent.h"
#include "expr/parse.h"
#include "expr/tables.h"

namespace tilescope::expr {
namespace {

// What a conversion makes of values beyond the greatest.
enum class Beyond : std::uint8_t {
  kInfinity,
  kGreatest,          // infinity too: PTX's cvt.satfinite
  kGreatestOfFinite,  // infinity becomes not-a-number, which is all that the format has
};

// A binary floating-point format: digits of the significand with the hidden one, and the least normal exponent.
struct FloatFormat {
  int digits;
  int min_exponent;
  double greatest;
  bool ties_away = false;  // from zero, not to even
  Beyond beyond = Beyond::kInfinity;
};
constexpr FloatFormat kF16 = {11, -14, 65504.0};
constexpr FloatFormat kBf16 = {8, -126, 0x1.FEp127};
// As PTX's cvt.rna.tf32.f32 rounds, the only conversion to it that every chip with tf32 has (PTX ISA, "cvt").
constexpr FloatFormat kTf32 = {11, -126, 0x1.FFCp127, true};

// Open Compute Project, "8-bit floating point specification", as PTX's cvt.rn.satfinite converts to it.
constexpr FloatFormat kF8E4M3 = {4, -6, 448, false, Beyond::kGreatest};
constexpr FloatFormat kF8E5M2 = {3, -14, 57344, false, Beyond::kGreatest};
// AMD's CDNA3 ISA, v_cvt_pk_fp8_f32 and v_cvt_pk_bf8_f32 of a value that v_med3 has brought into the range, as
// composable_kernel and HIP do: infinity and not-a-number are let through.
constexpr FloatFormat kF8E4M3Fnuz = {4, -7, 240, false, Beyond::kGreatestOfFinite};
constexpr FloatFormat kF8E5M2Fnuz = {3, -15, 57344, false, Beyond::kGreatestOfFinite};

constexpr FloatFormat kF32 = {std::numeric_limits<float>::digits, std::numeric_limits<float>::min_exponent - 1,
                              double{std::numeric_limits<float>::max()}};
constexpr FloatFormat kF64 = {std::numeric_limits<double>::digits, std::numeric_limits<double>::min_exponent - 1,
                              std::numeric_limits<double>::max()};

// The numbers of an integer type as those of a format whose least unit is one.
template <class Integer>
constexpr FloatFormat whole_numbers() {
  constexpr int kDigits = std::numeric_limits<Integer>::digits;
  return {kDigits, kDigits - 1, double{std::numeric_limits<Integer>::max()}};
}

const FloatFormat& format_of(base::Dtype dtype) {
  static constexpr FloatFormat kI8 = whole_numbers<std::int8_t>(), kU8 = whole_numbers<std::uint8_t>(),
                               kI32 = whole_numbers<std::int32_t>();
  switch (dtype) {
    case base::Dtype::kF32:
      return kF32;
    case base::Dtype::kTf32:
      return kTf32;
    case base::Dtype::kF16:
      return kF16;
    case base::Dtype::kBf16:
      return kBf16;
    case base::Dtype::kI8:
      return kI8;
    case base::Dtype::kU8:
      return kU8;
    case base::Dtype::kI32:
      return kI32;
    case base::Dtype::kF64:
      return kF64;
    case base::Dtype::kF8E4M3:
      return kF8E4M3;
    case base::Dtype::kF8E5M2:
      return kF8E5M2;
    case base::Dtype::kF8E4M3Fnuz:
      return kF8E4M3Fnuz;
    case base::Dtype::kF8E5M2Fnuz:
      return kF8E5M2Fnuz;
  }
  base::check(false, "every dtype has a format");
  return kF64;
}

double beyond(double v, const FloatFormat& f) {
  const bool infinite = std::isinf(v);
  if (f.beyond == Beyond::kInfinity) return std::copysign(std::numeric_limits<double>::infinity(), v);
  if (infinite && f.beyond == Beyond::kGreatestOfFinite) return std::numeric_limits<double>::quiet_NaN();
  return std::copysign(f.greatest, v);
}

double round_float(double v, const FloatFormat& f) {
  if (std::isinf(v)) return beyond(v, f);
  if (v == 0 || std::isnan(v)) return v;
  const int exponent = std::max(std::ilogb(v), f.min_exponent) - (f.digits - 1);
  const double units = std::scalbn(v, -exponent);
  const double rounded = std::scalbn(f.ties_away ? std::round(units) : std::nearbyint(units), exponent);
  return std::fabs(rounded) > f.greatest ? beyond(v, f) : rounded;
}

template <class Integer>
double saturate(double v) {
  if (std::isnan(v)) return 0;
  return std::clamp(std::nearbyint(v), double{std::numeric_limits<Integer>::min()},
                    double{std::numeric_limits<Integer>::max()});
}

// The int32 that is equal to a whole number modulo 2^32.
double wrapped(std::int64_t v) { return static_cast<std::int32_t>(static_cast<std::uint32_t>(v)); }

bool stays_integer(const Node& n) {
  switch (n.kind) {
    case NodeKind::kNumber:
      return std::nearbyint(n.number) == n.number && std::fabs(n.number) < 0x1p31;
    case NodeKind::kCall:
      return !is_approximated(n.function) || n.function == Function::kMod;
    default:
      return n.kind != NodeKind::kScalar && n.kind != NodeKind::kDivide;
  }
}

// `integers`: whether all reads are of integers.
Numbers numbers_of(const std::vector<Node>& body, bool reads_nothing, bool integers, Reducer reducer,
                   base::Dtype target) {
  const bool target_counts = reducer != Reducer::kNone || reads_nothing;
  return integers && (!target_counts || base::is_integer(target)) &&
                 std::all_of(body.begin(), body.end(), stays_integer)
             ? Numbers::kInt32
             : Numbers::kReal;
}

double call(Function f, double a, double b, double c) {
  switch (f) {
    case Function::kExp:
      return std::exp(a);
    case Function::kLog:
      return std::log(a);
    case Function::kSqrt:
      return std::sqrt(a);
    case Function::kRsqrt:
      return 1 / std::sqrt(a);
    case Function::kTanh:
      return std::tanh(a);
    case Function::kSigmoid:
      return 1 / (1 + std::exp(-a));
    case Function::kErf:
      return std::erf(a);
    case Function::kRelu:
      return std::fmax(a, 0.0);
    case Function::kAbs:
      return std::fabs(a);
    case Function::kMax:
      return std::fmax(a, b);
    case Function::kMin:
      return std::fmin(a, b);
    case Function::kPow:
      return std::pow(a, b);
    case Function::kSin:
      return std::sin(a);
    case Function::kCos:
      return std::cos(a);
    case Function::kFloor:
      return std::floor(a);
    case Function::kCeil:
      return std::ceil(a);
    case Function::kRound:
      return std::nearbyint(a);
    case Function::kSign:
      return a > 0 ? 1 : a < 0 ? -1 : a;
    case Function::kLess:
      return a < b ? 1 : 0;
    case Function::kLessEqual:
      return a <= b ? 1 : 0;
    case Function::kGreater:
      return a > b ? 1 : 0;
    case Function::kGreaterEqual:
      return a >= b ? 1 : 0;
    case Function::kEqual:
      return a == b ? 1 : 0;
    case Function::kNotEqual:
      return a != b ? 1 : 0;
    case Function::kAnd:
      return a != 0 && b != 0 ? 1 : 0;
    case Function::kOr:
      return a != 0 || b != 0 ? 1 : 0;
    case Function::kNot:
      return a == 0 ? 1 : 0;
    case Function::kSelect:
      return a != 0 ? b : c;
    case Function::kMod:
      return a - std::floor(a / b) * b;
  }
  base::check(false, "every function has a value");
  return 0;
}

// The value of an operator on two numbers that are int32, or on one.
double apply_int32(const Node& n, double left, double right, double third) {
  const auto a = static_cast<std::int64_t>(left), b = static_cast<std::int64_t>(right);
  switch (n.kind) {
    case NodeKind::kNegate:
      return wrapped(-a);
    case NodeKind::kAdd:
      return wrapped(a + b);
    case NodeKind::kSubtract:
      return wrapped(a - b);
    case NodeKind::kMultiply:
      return wrapped(a * b);
    case NodeKind::kCall:
      if (n.function == Function::kAbs) return wrapped(std::abs(a));
      if (n.function == Function::kMod)
        return b == 0 ? 0 : wrapped(b < 0 ? -base::floor_mod(-a, -b) : base::floor_mod(a, b));
      return call(n.function, left, right, third);
    default:
      base::check(false, "every operator of integers has a value");
      return 0;
  }
}

// Moves axes first .. last-1 of the point to their next values, the last one fastest; false after the last point.
bool step(std::vector<std::int64_t>& point, const Stage& stage, std::size_t first, std::size_t last) {
  for (std::size_t a = last; a-- > first;) {
    if (++point[a] < stage.axes[a].size) return true;
    point[a] = 0;
  }
  return false;
}

// Flat index of the element read at a point, or nothing outside the tensor; `value_of(tensor, element)` is asked for
// what tables hold. Throws IndexError.
template <class ValueOf>
std::optional<std::int64_t> element_of(const Expression& e, const Stage& stage, const Read& read,
                                       const std::vector<std::int64_t>& point, const ValueOf& value_of) {
  const Tensor& tensor = e.tensors[static_cast<std::size_t>(read.tensor)];
  std::int64_t element = 0;
  for (std::size_t d = 0; d < read.at.size(); ++d) {
    std::int64_t at = 0;
    if (read.at[d].gathered()) {
      const Read& table = stage.reads[static_cast<std::size_t>(read.at[d].table)];
      const auto held = element_of(e, stage, table, point, value_of);
      if (!held) return std::nullopt;
      const double index = value_of(table.tensor, *held);
      if (index < 0 || index >= static_cast<double>(tensor.shape[d])) fail_index(e, stage, read, *held, index);
      at = static_cast<std::int64_t>(index);
    } else {
      at = value_at(read.at[d], point);
    }
    if (at < 0 || at >= tensor.shape[d]) return std::nullopt;
    element = element * tensor.shape[d] + at;
  }
  return element;
}

// `value_of(tensor, element)` is what is read there.
template <class ValueOf>
class StageRun {
 public:
  StageRun(const Expression& e, const Stage& stage, const std::vector<double>& scalars, ValueOf value_of)
      : e_(e),
        stage_(stage),
        scalars_(scalars),
        value_of_(value_of),
        point_(stage.axes.size(), 0),
        nodes_(stage.body.size(), 0),
        numbers_(numbers_of(e, stage)) {}

  // Of all elements of the output.
  Values values() {
    Values out;
    do out.push_back(rounded());
    while (step(point_, stage_, 0, stage_.spatial_count()));
    return out;
  }

  double value_at(std::int64_t element) {
    for (std::size_t a = stage_.spatial_count(); a-- > 0; element /= stage_.axes[a].size)
      point_[a] = element % stage_.axes[a].size;
    return rounded();
  }

 private:
  double rounded() {
    return round_to(e_.tensors[static_cast<std::size_t>(stage_.output)].dtype, reduced(stage_.spatial_count()));
  }

  // The value of one output element: all reduced axes at the current spatial ones.
  double reduced(std::size_t spatial) {
    if (stage_.reducer == Reducer::kNone) return body();
    double value = identity(stage_.reducer);
    double steps = 0;
    do {
      body();
      value = round_to(e_.accumulate, reduce(stage_.reducer, numbers_, value, stage_.body, nodes_));
      ++steps;
    } while (step(point_, stage_, spatial, point_.size()));
    return stage_.reducer == Reducer::kMean ? round_to(e_.accumulate, value / steps) : value;
  }

  double body() {
    for (std::size_t n = 0; n < nodes_.size(); ++n) nodes_[n] = value_of(stage_.body[n]);
    return nodes_.back();
  }

  double value_of(const Node& n) const {
    if (n.kind == NodeKind::kScalar) return scalars_[static_cast<std::size_t>(n.index)];
    if (n.kind == NodeKind::kRead) return read(stage_.reads[static_cast<std::size_t>(n.index)]);
    if (n.kind == NodeKind::kIndex)
      return static_cast<double>(expr::value_at(stage_.indices[static_cast<std::size_t>(n.index)], point_));
    return apply(stage_.body, n, numbers_, nodes_);
  }

  double read(const Read& r) const {
    const auto element = element_of(e_, stage_, r, point_, value_of_);
    return element ? value_of_(r.tensor, *element) : 0;
  }

  const Expression& e_;
  const Stage& stage_;
  const std::vector<double>& scalars_;
  ValueOf value_of_;
  std::vector<std::int64_t> point_;  // by axis
  std::vector<double> nodes_;        // by node of the body
  Numbers numbers_;
};

}  // namespace

double identity(Reducer r) {
  if (r == Reducer::kMax) return -std::numeric_limits<double>::infinity();
  if (r == Reducer::kMin) return std::numeric_limits<double>::infinity();
  return r == Reducer::kProduct ? 1 : 0;
}

double round_to(base::Dtype dtype, double value) {
  switch (dtype) {
    case base::Dtype::kF32:
      return double{static_cast<float>(value)};
    case base::Dtype::kTf32:
      return round_float(double{static_cast<float>(value)}, kTf32);
    case base::Dtype::kI8:
      return saturate<std::int8_t>(value);
    case base::Dtype::kU8:
      return saturate<std::uint8_t>(value);
    case base::Dtype::kI32:
      return saturate<std::int32_t>(value);
    case base::Dtype::kF64:
      return value;
    case base::Dtype::kF8E4M3Fnuz:
    case base::Dtype::kF8E5M2Fnuz:
      return round_float(value, format_of(dtype)) + 0.0;  // no negative zero
    default:
      return round_float(value, format_of(dtype));
  }
}

double greatest_of(base::Dtype dtype) {
  base::check(!base::is_integer(dtype), "integers have no greatest finite number but their own");
  return format_of(dtype).greatest;
}

bool holds(base::Dtype dtype, base::Dtype other) {
  if (dtype == other) return true;
  if (base::is_integer(dtype) && (!base::is_integer(other) || base::size_of(dtype).n == base::size_of(other).n))
    return false;
  const auto least_unit = [](const FloatFormat& f) { return f.min_exponent - (f.digits - 1); };
  const FloatFormat &own = format_of(dtype), &of_other = format_of(other);
  return own.digits >= of_other.digits && least_unit(own) <= least_unit(of_other) && own.greatest >= of_other.greatest;
}

Numbers numbers_of(const std::vector<Node>& body, const std::vector<base::Dtype>& reads, Reducer reducer,
                   base::Dtype target) {
  return numbers_of(body, reads.empty(), std::all_of(reads.begin(), reads.end(), base::is_integer), reducer, target);
}

Numbers numbers_of(const Expression& e, const Stage& stage) {
  const auto dtype_of = [&](int tensor) { return e.tensors[static_cast<std::size_t>(tensor)].dtype; };
  const bool integers = std::all_of(stage.reads.begin(), stage.reads.end(),
                                    [&](const Read& r) { return base::is_integer(dtype_of(r.tensor)); });
  return numbers_of(stage.body, stage.reads.empty(), integers, stage.reducer,
                    stage.reducer == Reducer::kNone ? dtype_of(stage.output) : e.accumulate);
}

double reduce(Reducer r, Numbers numbers, double so_far, double value) {
  switch (r) {
    case Reducer::kNone:
      return value;
    case Reducer::kSum:
    case Reducer::kMean:
      if (numbers == Numbers::kInt32)
        return wrapped(static_cast<std::int64_t>(so_far) + static_cast<std::int64_t>(value));
      return so_far + value;
    case Reducer::kMax:
      return std::fmax(so_far, value);
    case Reducer::kMin:
      return std::fmin(so_far, value);
    case Reducer::kProduct:
      if (numbers == Numbers::kInt32)
        return wrapped(static_cast<std::int64_t>(so_far) * static_cast<std::int64_t>(value));
      return so_far * value;
  }
  base::check(false, "every reducer has a step");
  return 0;
}

double reduce(Reducer r, Numbers numbers, double so_far, const std::vector<Node>& body,
              const std::vector<double>& nodes) {
  const bool adds = r == Reducer::kSum || r == Reducer::kMean;
  if (adds && numbers == Numbers::kReal && body.back().kind == NodeKind::kMultiply)
    return std::fma(nodes[static_cast<std::size_t>(body.back().left)],
                    nodes[static_cast<std::size_t>(body.back().right)], so_far);
  return reduce(r, numbers, so_far, nodes.back());
}

double apply(const std::vector<Node>& body, const Node& n, Numbers numbers, const std::vector<double>& nodes) {
  const auto operand = [&](int node) { return nodes[static_cast<std::size_t>(node)]; };
  const auto is_product = [&](int node) { return body[static_cast<std::size_t>(node)].kind == NodeKind::kMultiply; };
  const auto multiply_add = [&](double sign, int product, double summand) {
    const Node& p = body[static_cast<std::size_t>(product)];
    return std::fma(sign * operand(p.left), operand(p.right), summand);
  };
  const auto optional = [&](int node) { return node < 0 ? 0 : operand(node); };
  if (numbers == Numbers::kInt32 && n.left >= 0)
    return apply_int32(n, operand(n.left), optional(n.right), optional(n.third));
  switch (n.kind) {
    case NodeKind::kNumber:
      return n.number;
    case NodeKind::kNegate:
      return -operand(n.left);
    case NodeKind::kAdd:
      if (is_product(n.right)) return multiply_add(1, n.right, operand(n.left));
      if (is_product(n.left)) return multiply_add(1, n.left, operand(n.right));
      return operand(n.left) + operand(n.right);
    case NodeKind::kSubtract:
      if (is_product(n.right)) return multiply_add(-1, n.right, operand(n.left));
      return operand(n.left) - operand(n.right);
    case NodeKind::kMultiply:
      return operand(n.left) * operand(n.right);
    case NodeKind::kDivide:
      return operand(n.left) / operand(n.right);
    case NodeKind::kCall:
      return call(n.function, operand(n.left), optional(n.right), optional(n.third));
    case NodeKind::kScalar:
    case NodeKind::kRead:
    case NodeKind::kIndex:
      break;
  }
  base::check(false, "every node but reads, scalars and indices has a value");
  return 0;
}

void evaluate(const Expression& e, const std::vector<double>& scalars, std::vector<Values>& tensors) {
  base::check(scalars.size() == e.scalars.size(), "every scalar has a value");
  base::check(tensors.size() == e.tensors.size(), "every tensor has its values");
  for (std::size_t t = 0; t < tensors.size(); ++t)
    if (e.tensors[t].producer == kInput)
      base::check(std::cmp_equal(tensors[t].size(), e.tensors[t].elements()), "an input has all its elements");
  const auto value_of = [&](int tensor, std::int64_t element) {
    return tensors[static_cast<std::size_t>(tensor)][static_cast<std::size_t>(element)];
  };
  for (const Stage& stage : e.stages)
    tensors[static_cast<std::size_t>(stage.output)] = StageRun(e, stage, scalars, value_of).values();
}

double evaluate_element(const Expression& e, std::size_t stage, std::int64_t element,
                        const std::vector<double>& scalars,
                        const std::function<double(int tensor, std::int64_t element)>& value_of) {
  return StageRun(e, e.stages[stage], scalars, std::cref(value_of)).value_at(element);
}

void visit_reads(const Expression& e, std::size_t stage,
                 const std::function<void(std::size_t read, std::int64_t element)>& visit) {
  const Stage& s = e.stages[stage];
  std::vector<std::int64_t> point(s.axes.size(), 0);
  std::map<int, std::vector<std::int32_t>> drawn;
  for (const int t : tables_of(e)) drawn[t] = drawn_indices(e, t);
  const auto index_of = [&](int table, std::int64_t element) {
    return static_cast<double>(drawn.at(table)[static_cast<std::size_t>(element)]);
  };
  do {
    for (std::size_t r = 0; r < s.reads.size(); ++r) {
      if (const auto element = element_of(e, s, s.reads[r], point, index_of)) visit(r, *element);
    }
  } while (step(point, s, 0, point.size()));
}

}  // namespace tilescope::expr
