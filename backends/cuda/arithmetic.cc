// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/detail/arithmetic.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include <fmt/format.h>

#include "base/check.h"
#include "expr/parse.h"
#include "expr/reference.h"

namespace tilescope::cuda {
namespace {

using base::Dtype;
using expr::Function;
using expr::Node;
using expr::NodeKind;
using expr::Reducer;

enum class Type : std::uint8_t { kInt, kFloat, kDouble };

// By expr::Function, up to those that C++ has operators for: the function of double, that of float, and that of int;
// an integer is its own floor.
struct Spelling {
  std::string_view real, single, integer;

  std::string_view of(Type t) const { return t == Type::kInt ? integer : t == Type::kFloat ? single : real; }
};
constexpr auto kFunctions = std::to_array<Spelling>({{"exp", "expf", {}},
                                                     {"log", "logf", {}},
                                                     {"sqrt", "sqrtf", {}},
                                                     {"inverse_sqrt", "inverse_sqrtf", {}},
                                                     {"tanh", "tanhf", {}},
                                                     {"sigmoid", "sigmoidf", {}},
                                                     {"erf", "erff", {}},
                                                     {"relu", "reluf", "relui"},
                                                     {"fabs", "fabsf", "absi"},
                                                     {"fmax", "fmaxf", "maxi"},
                                                     {"fmin", "fminf", "mini"},
                                                     {"pow", "powf", {}},
                                                     {"sin", "sinf", {}},
                                                     {"cos", "cosf", {}},
                                                     {"floor", "floorf", {}},
                                                     {"ceil", "ceilf", {}},
                                                     {"rint", "rintf", {}},
                                                     {"signum", "signumf", "signumi"}});
static_assert(kFunctions.size() == static_cast<std::size_t>(Function::kLess));
constexpr Spelling kModulo = {"modulo", "modulof", "moduloi"}, kFma = {"fma", "fmaf", {}};

std::string_view spelling_of(Function f, Type t) { return kFunctions[static_cast<std::size_t>(f)].of(t); }

// Whether the prelude's type of it is a struct, which is made of a float and becomes one.
bool is_struct(Dtype d) { return !base::is_integer(d) && d != Dtype::kF32 && d != Dtype::kF64; }

// How tightly a text binds, for parentheses.
enum Binding : std::uint8_t { kChoice, kOr, kAnd, kComparison, kSum, kProduct, kUnary, kWhole };
struct Text {
  std::string text;
  Binding binding = kWhole;
};

std::string within(const Text& t, Binding least) { return t.binding < least ? "(" + t.text + ")" : t.text; }

class Arithmetic {
 public:
  Arithmetic(const lower::Kernel& kernel, const lower::Compute& compute, const Formulas& formulas,
             const KernelNames& names)
      : kernel_(kernel), compute_(compute), formulas_(formulas), names_(names), type_(type()) {}

  std::string statement() const {
    const std::string target = formulas_.element(compute_.target);
    const Dtype dtype = dtype_of(compute_.target);
    const bool adds = compute_.reducer == Reducer::kSum || compute_.reducer == Reducer::kMean;
    const bool exact = dtype == (type_ == Type::kInt ? Dtype::kI32 : type_ == Type::kFloat ? Dtype::kF32 : Dtype::kF64);
    if (adds && exact && !is_product(root())) return fmt::format("{} += {};", target, text(root()).text);
    return fmt::format("{} = {};", target, converted(dtype, reduced(root()).text));
  }

 private:
  int root() const { return static_cast<int>(compute_.body.size()) - 1; }
  const Node& node(int n) const { return compute_.body[static_cast<std::size_t>(n)]; }
  bool is_product(int n) const { return type_ != Type::kInt && node(n).kind == NodeKind::kMultiply; }
  Dtype dtype_of(const lower::Access& a) const { return kernel_.buffers[static_cast<std::size_t>(a.buffer)].dtype; }

  Type type() const {
    std::vector<Dtype> dtypes;
    for (const lower::Access& a : compute_.operands) dtypes.push_back(dtype_of(a));
    const Dtype target = dtype_of(compute_.target);
    if (expr::numbers_of(compute_.body, dtypes, compute_.reducer, target) == expr::Numbers::kInt32) return Type::kInt;
    if (compute_.reducer != Reducer::kNone || dtypes.empty() || target == Dtype::kF64) dtypes.push_back(target);
    const auto is_long = [](Dtype d) { return d == Dtype::kI32 || d == Dtype::kF64; };
    return std::any_of(dtypes.begin(), dtypes.end(), is_long) ? Type::kDouble : Type::kFloat;
  }

  // target (reducer)= body, as a value.
  Text reduced(int n) const {
    const std::string so_far = read(compute_.target);
    switch (compute_.reducer) {
      case Reducer::kNone:
        return text(n);
      case Reducer::kSum:
      case Reducer::kMean:
        if (is_product(n)) return fma(n, "", so_far);
        return {fmt::format("{} + {}", so_far, within(text(n), kSum)), kSum};
      case Reducer::kMax:
        return {fmt::format("{}({}, {})", spelling_of(Function::kMax, type_), so_far, text(n).text)};
      case Reducer::kMin:
        return {fmt::format("{}({}, {})", spelling_of(Function::kMin, type_), so_far, text(n).text)};
      case Reducer::kProduct:
        return {fmt::format("{} * {}", so_far, within(text(n), kUnary)), kProduct};
    }
    base::check(false, "every reducer has a step");
    return {};
  }

  Text text(int at) const {
    const Node& n = node(at);
    switch (n.kind) {
      case NodeKind::kNumber:
        return number(n.number);
      case NodeKind::kScalar: {
        const std::string& name = names_.scalars[static_cast<std::size_t>(n.index)];
        if (type_ == Type::kDouble && !has_wide_scalars(kernel_)) return {fmt::format("double({})", name)};
        if (type_ == Type::kFloat && has_wide_scalars(kernel_)) return {fmt::format("float({})", name)};
        return {name};
      }
      case NodeKind::kRead:
        return {read(compute_.operands[static_cast<std::size_t>(n.index)])};
      case NodeKind::kIndex:
        return {fmt::format("{}({})", type_name(), index(n))};
      case NodeKind::kNegate:
        return {"-" + within(text(n.left), kWhole), kUnary};
      case NodeKind::kAdd:
        if (is_product(n.right)) return fma(n.right, "", text(n.left).text);
        if (is_product(n.left)) return fma(n.left, "", text(n.right).text);
        return {within(text(n.left), kSum) + " + " + within(text(n.right), kProduct), kSum};
      case NodeKind::kSubtract:
        if (is_product(n.right)) return fma(n.right, "-", text(n.left).text);
        return {within(text(n.left), kSum) + " - " + within(text(n.right), kProduct), kSum};
      case NodeKind::kMultiply:
        return {within(text(n.left), kProduct) + " * " + within(text(n.right), kUnary), kProduct};
      case NodeKind::kDivide:
        return {within(text(n.left), kProduct) + " / " + within(text(n.right), kUnary), kProduct};
      case NodeKind::kCall:
        return call(n);
    }
    base::check(false, "every node has a text");
    return {};
  }

  std::string index(const Node& n) const {
    return formulas_.affine(compute_.indices[static_cast<std::size_t>(n.index)]);
  }
  std::string_view type_name() const {
    return type_ == Type::kInt ? "int" : type_ == Type::kFloat ? "float" : "double";
  }
  // The value of a node where the text must have the type of the arithmetic: both choices of a conditional.
  std::string of_type(int at) const {
    const Text t = text(at);
    if (node(at).kind != NodeKind::kRead) return within(t, kOr);
    return fmt::format("{}({})", type_name(), t.text);
  }

  static bool is_condition(const Node& n) {
    return n.kind == NodeKind::kCall && n.function >= Function::kLess && n.function <= Function::kNot;
  }

  // What is true where the node is not 0.
  Text condition(int at) const {
    const Node& n = node(at);
    if (!is_condition(n))
      return {within(text(at), kSum) + " != " + (type_ == Type::kInt ? "0" : number(0).text), kComparison};
    const std::string_view sign = expr::spelling(n.function);
    switch (n.function) {
      case Function::kNot:
        return {"!(" + condition(n.left).text + ")", kUnary};
      case Function::kAnd:
        return {fmt::format("{} {} {}", within(condition(n.left), kAnd), sign, within(condition(n.right), kAnd)), kAnd};
      case Function::kOr:
        return {fmt::format("{} {} {}", within(condition(n.left), kComparison), sign,
                            within(condition(n.right), kComparison)),
                kOr};
      default:
        break;
    }
    if (expr::is_compared_index(compute_.body, static_cast<std::size_t>(n.left)))
      return {fmt::format("{} {} 0", index(node(n.left)), sign), kComparison};
    return {fmt::format("{} {} {}", within(text(n.left), kSum), sign, within(text(n.right), kSum)), kComparison};
  }

  Text call(const Node& n) const {
    if (n.function == Function::kSelect)
      return {fmt::format("{} ? {} : {}", within(condition(n.left), kOr), of_type(n.right), of_type(n.third)), kChoice};
    if (n.function == Function::kMod)
      return {fmt::format("{}({}, {})", kModulo.of(type_), of_type(n.left), of_type(n.right))};
    if (is_condition(n)) {
      const int at = static_cast<int>(&n - compute_.body.data());
      return {fmt::format("{} ? {} : {}", within(condition(at), kOr), number(1).text, number(0).text), kChoice};
    }
    const std::string_view name = spelling_of(n.function, type_);
    if (name.empty()) return text(n.left);
    if (n.right < 0) return {fmt::format("{}({})", name, text(n.left).text)};
    return {fmt::format("{}({}, {})", name, text(n.left).text, text(n.right).text)};
  }

  // The product at `n`, with a sign, plus a summand, rounded once.
  Text fma(int n, std::string_view sign, const std::string& summand) const {
    const Text left = text(node(n).left);
    const std::string factor = sign.empty() ? left.text : fmt::format("{}{}", sign, within(left, kWhole));
    return {fmt::format("{}({}, {}, {})", kFma.of(type_), factor, text(node(n).right).text, summand)};
  }

  std::string read(const lower::Access& a) const {
    std::string element = formulas_.element(a);
    if (type_ == Type::kDouble && dtype_of(a) != Dtype::kF64) return fmt::format("double({})", element);
    // Of two structs neither is made of the other.
    const bool of_structs = is_struct(dtype_of(a)) && is_struct(dtype_of(compute_.target));
    const bool differs = of_structs && dtype_of(a) != dtype_of(compute_.target);
    if (type_ == Type::kFloat && (differs || base::is_integer(dtype_of(a)))) return fmt::format("float({})", element);
    return element;
  }

  Text number(double v) const {
    if (type_ == Type::kFloat) v = static_cast<float>(v);  // what no float holds is infinite
    const Binding binding = std::signbit(v) ? kUnary : kWhole;
    const std::string_view minus = std::signbit(v) ? "-" : "";
    if (std::isnan(v)) return {type_ == Type::kDouble ? "double(not_a_number())" : "not_a_number()"};
    if (std::isinf(v))
      return {fmt::format("{}{}", minus, type_ == Type::kDouble ? "double(infinity())" : "infinity()"), binding};
    if (type_ == Type::kInt) return {fmt::format("{:.0f}", v), binding};
    std::string out = type_ == Type::kFloat ? fmt::format("{}", static_cast<float>(v)) : fmt::format("{}", v);
    if (out.find_first_of(".e") == std::string::npos) out += ".0";
    return {out + (type_ == Type::kFloat ? "f" : ""), binding};
  }

  // A value of this arithmetic rounded to what the target holds.
  std::string converted(Dtype dtype, const std::string& value) const {
    switch (dtype) {
      case Dtype::kF32:
        return type_ == Type::kFloat ? value : fmt::format("float({})", value);
      case Dtype::kF64:
        return type_ == Type::kDouble ? value : fmt::format("double({})", value);
      case Dtype::kTf32:
        return type_ == Type::kFloat ? value : fmt::format("{}(float({}))", type_of(dtype), value);
      case Dtype::kF16:
      case Dtype::kBf16:
      case Dtype::kF8E4M3:
      case Dtype::kF8E5M2:
      case Dtype::kF8E4M3Fnuz:
      case Dtype::kF8E5M2Fnuz:
        if (type_ == Type::kFloat) return value;
        return fmt::format("{}({}({}))", type_of(dtype), type_ == Type::kDouble ? "to_odd" : "float", value);
      case Dtype::kI8:
        return fmt::format("to_i8({})", value);
      case Dtype::kU8:
        return fmt::format("to_u8({})", value);
      case Dtype::kI32:
        return type_ == Type::kInt ? value : fmt::format("to_i32({})", value);
    }
    base::check(false, "every dtype has a conversion");
    return {};
  }

  const lower::Kernel& kernel_;
  const lower::Compute& compute_;
  const Formulas& formulas_;
  const KernelNames& names_;
  Type type_;
};

}  // namespace

bool has_wide_scalars(const lower::Kernel& k) {
  return std::any_of(k.buffers.begin(), k.buffers.end(), [](const lower::Buffer& b) { return b.dtype == Dtype::kF64; });
}

std::string statement(const lower::Kernel& kernel, const lower::Compute& compute, const Formulas& formulas,
                      const KernelNames& names) {
  return Arithmetic(kernel, compute, formulas, names).statement();
}

}  // namespace tilescope::cuda
