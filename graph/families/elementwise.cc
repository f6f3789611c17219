// SPDX-License-Identifier: Apache-2.0
// Nodes that compute every element from those at its place: functions of one tensor and of several, conversions.

#include <map>

#include "expr/expression.h"
#include "graph/detail/writer.h"

namespace tilescope::graph {
namespace {

// In terms of x.
const std::map<std::string, std::string, std::less<>>& functions() {
  static const std::map<std::string, std::string, std::less<>> kFunctions = {
      {"Abs", "abs(x)"},
      {"Acosh", "log(x + sqrt(x * x - 1))"},
      {"Asinh", "sign(x) * log(abs(x) + sqrt(x * x + 1))"},
      {"Atanh", "0.5 * log((1 + x) / (1 - x))"},
      {"Ceil", "ceil(x)"},
      {"Cos", "cos(x)"},
      {"Cosh", "(exp(x) + exp(-x)) / 2"},
      {"Erf", "erf(x)"},
      {"Exp", "exp(x)"},
      {"Floor", "floor(x)"},
      {"HardSwish", "x * max(0, min(1, x / 6 + 0.5))"},
      {"Identity", "x"},
      {"IsNaN", "x != x"},
      {"Log", "log(x)"},
      {"Mish", "x * tanh(log(1 + exp(x)))"},
      {"Neg", "-x"},
      {"Not", "!x"},
      {"Reciprocal", "1 / x"},
      {"Relu", "relu(x)"},
      {"Round", "round(x)"},
      {"Sigmoid", "sigmoid(x)"},
      {"Sign", "sign(x)"},
      {"Sin", "sin(x)"},
      {"Sinh", "(exp(x) - exp(-x)) / 2"},
      {"Softplus", "log(1 + exp(x))"},
      {"Softsign", "x / (1 + abs(x))"},
      {"Sqrt", "sqrt(x)"},
      {"Tan", "sin(x) / cos(x)"},
      {"Tanh", "tanh(x)"},
  };
  return kFunctions;
}

// In terms of x and numbers that attributes give, with what they are where they are left out.
struct WithNumbers {
  const char* body;
  std::vector<std::pair<const char*, double>> numbers;
};
const std::map<std::string, WithNumbers, std::less<>>& functions_with_numbers() {
  static const std::map<std::string, WithNumbers, std::less<>> kFunctions = {
      {"Celu", {"max(0, x) + min(0, alpha * (exp(x / alpha) - 1))", {{"alpha", 1}}}},
      {"Elu", {"select(x < 0, alpha * (exp(x) - 1), x)", {{"alpha", 1}}}},
      {"HardSigmoid", {"max(0, min(1, alpha * x + beta))", {{"alpha", 0.2}, {"beta", 0.5}}}},
      {"LeakyRelu", {"select(x < 0, alpha * x, x)", {{"alpha", 0.01}}}},
      {"Selu",
       {"gamma * select(x > 0, x, alpha * exp(x) - alpha)",
        {{"alpha", 1.67326319217681884765625}, {"gamma", 1.05070102214813232421875}}}},
      {"Shrink", {"select(x < -lambd, x + bias, select(x > lambd, x - bias, 0))", {{"bias", 0}, {"lambd", 0.5}}}},
      {"ThresholdedRelu", {"select(x > alpha, x, 0)", {{"alpha", 1}}}},
  };
  return kFunctions;
}

// In terms of x and y; whether the result is a truth value.
struct OfTwo {
  const char* body;
  bool truth = false;
};
const std::map<std::string, OfTwo, std::less<>>& functions_of_two() {
  static const std::map<std::string, OfTwo, std::less<>> kFunctions = {
      {"Add", {"x + y"}},           {"And", {"x && y", true}},
      {"Div", {"x / y"}},           {"Equal", {"x == y", true}},
      {"Greater", {"x > y", true}}, {"GreaterOrEqual", {"x >= y", true}},
      {"Less", {"x < y", true}},    {"LessOrEqual", {"x <= y", true}},
      {"Mul", {"x * y"}},           {"Or", {"x || y", true}},
      {"Pow", {"pow(x, y)"}},       {"Sub", {"x - y"}},
      {"Xor", {"!x != !y", true}},
  };
  return kFunctions;
}

bool is_plain_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// The body with every word of the map replaced.
std::string filled(std::string_view body, const std::map<std::string, std::string, std::less<>>& words) {
  std::string out;
  for (std::size_t i = 0; i < body.size();) {
    std::size_t end = i;
    while (end < body.size() && is_plain_letter(body[end])) ++end;
    const auto word = words.find(body.substr(i, end - i));
    if (end == i) ++end;
    out += word == words.end() ? std::string(body.substr(i, end - i)) : word->second;
    i = end;
  }
  return out;
}

Names result_axes(Writer& w, std::size_t inputs) {
  std::vector<Shape> shapes;
  for (std::size_t i = 0; i < inputs; ++i) shapes.push_back(w.shape(i));
  return w.axes(broadcast_shape(shapes));
}

Shape result_shape(const Writer& w, std::size_t inputs) {
  std::vector<Shape> shapes;
  for (std::size_t i = 0; i < inputs; ++i) shapes.push_back(w.shape(i));
  return broadcast_shape(shapes);
}

void of_one(Writer& w, Element element, std::string_view body,
            std::map<std::string, std::string, std::less<>> words = {}) {
  const Names at = w.axes(w.shape(0));
  words["x"] = w.read(0, at);
  w.output(0, element, w.shape(0), at, "=", filled(body, words));
}

void of_two(Writer& w, Element element, std::string_view body) {
  const Names at = result_axes(w, 2);
  w.output(0, element, result_shape(w, 2), at, "=",
           filled(body, {{"x", w.broadcast(0, at)}, {"y", w.broadcast(1, at)}}));
}

// Integers go on as C's conversion makes them, towards zero.
void convert(Writer& w, Element to) {
  if (to == Element::kOther || w.input(0).element == Element::kOther) throw Refusal("a conversion of strings");
  const bool truncates = is_float(w.input(0).element) && !is_float(to) && to != Element::kBool;
  of_one(w, to, to == Element::kBool ? "x != 0" : truncates ? "sign(x) * floor(abs(x))" : "x");
}

// By the number of ONNX's TensorProto.DataType.
Element element_of_number(std::int64_t type) {
  constexpr Element kElements[] = {Element::kOther, Element::kF32, Element::kU8,  Element::kI8,    Element::kU16,
                                   Element::kI16,   Element::kI32, Element::kI64, Element::kOther, Element::kBool,
                                   Element::kF16,   Element::kF64, Element::kU32, Element::kU64,   Element::kOther,
                                   Element::kOther, Element::kBf16};
  return type >= 0 && type < std::ssize(kElements) ? kElements[type] : Element::kOther;
}

// Before operator set 7 a slope is of a channel.
void parametric_relu(Writer& w) {
  const bool by_channel = w.opset() < 7 && w.rank(1) == 1 && w.shape(1)[0] > 1;
  const Names at = w.axes(w.shape(0));
  const std::string x = w.read(0, at), slope = by_channel ? w.read(1, {at.at(1)}) : w.broadcast(1, at);
  w.output(0, w.input(0).element, at, "=", fmt::format("select({0} < 0, {1} * {0}, {0})", x, slope));
}

void several(Writer& w) {
  const Names at = result_axes(w, w.inputs());
  std::string body = w.broadcast(0, at);
  const bool sum = w.kind() == "Sum" || w.kind() == "Mean";
  for (std::size_t i = 1; i < w.inputs(); ++i) {
    if (i % (expr::kMaxReads - 1) == 0)
      body = Writer::at(w.stage(at, "=", body), at);  // a stage has only so many reads
    body = sum ? fmt::format("{} + {}", body, w.broadcast(i, at))
               : fmt::format("{}({}, {})", w.kind() == "Max" ? "max" : "min", body, w.broadcast(i, at));
  }
  if (w.kind() == "Mean") body = fmt::format("({}) / {}", body, w.inputs());
  w.output(0, w.input(0).element, result_shape(w, w.inputs()), at, "=", body);
}

void clip(Writer& w) {
  const Names at = w.axes(w.shape(0));
  std::string body = w.read(0, at);
  const auto bound = [&](const char* name, std::size_t input, const char* function) {
    if (w.has_attribute(name))
      body = fmt::format("{}({}, {})", function, body, text_of(w.real(name, 0)));
    else if (w.has(input))
      body = fmt::format("{}({}, {})", function, body, w.read(input, {}));
  };
  bound("min", 1, "max");
  bound("max", 2, "min");
  w.output(0, w.input(0).element, w.shape(0), at, "=", body);
}

void bit_shift(Writer& w) {
  const bool left = w.attribute<std::string>("direction", "LEFT") == "LEFT";
  of_two(w, w.input(0).element, left ? "x * pow(2, y)" : "floor(x / pow(2, y))");
}

void is_infinite(Writer& w) {
  const bool positive = w.number("detect_positive", 1) != 0, negative = w.number("detect_negative", 1) != 0;
  of_one(w, Element::kBool,
         positive && negative ? "abs(x) == inf"
         : positive           ? "x == inf"
         : negative           ? "x == -inf"
                              : "0 * x != 0 * x");
}

void modulo(Writer& w) {
  of_two(w, w.input(0).element, w.number("fmod", 0) == 0 ? "x % y" : "x - sign(x / y) * floor(abs(x / y)) * y");
}

void where(Writer& w) {
  const Names at = result_axes(w, 3);
  w.output(0, w.input(1).element, result_shape(w, 3), at, "=",
           fmt::format("select({}, {}, {})", w.broadcast(0, at), w.broadcast(1, at), w.broadcast(2, at)));
}

}  // namespace

bool write_elementwise(Writer& w) {
  const std::string& kind = w.kind();
  if (kind == "Identity" || kind == "Dropout") {
    if (kind == "Dropout" && w.has(2) && w.values(2).at(0) != 0) throw Refusal("random numbers");
    w.view(0, 0, w.shape(0));
    if (w.wants(1)) {
      const Names at = w.axes(w.shape(0));
      w.output(1, Element::kBool, w.shape(0), at, "=", "1");
    }
    return true;
  }
  if (const auto f = functions().find(kind); f != functions().end()) {
    const bool truth = kind == "Not" || kind == "IsNaN";
    of_one(w, truth ? Element::kBool : w.input(0).element, f->second);
    return true;
  }
  if (const auto f = functions_with_numbers().find(kind); f != functions_with_numbers().end()) {
    std::map<std::string, std::string, std::less<>> words;
    for (const auto& [name, absent] : f->second.numbers) words[name] = text_of(w.real(name, absent));
    of_one(w, w.input(0).element, f->second.body, std::move(words));
    return true;
  }
  if (const auto f = functions_of_two().find(kind); f != functions_of_two().end()) {
    const bool whole = kind == "Div" && !is_float(w.input(0).element);
    of_two(w, f->second.truth ? Element::kBool : w.input(0).element,
           whole ? "sign(x / y) * floor(abs(x / y))" : f->second.body);
    return true;
  }
  if (kind == "Sum" || kind == "Mean" || kind == "Max" || kind == "Min")
    several(w);
  else if (kind == "Clip")
    clip(w);
  else if (kind == "Cast")
    convert(w, element_of_number(w.number("to", 0)));
  else if (kind == "CastLike")
    convert(w, w.input(1).element);
  else if (kind == "BitShift")
    bit_shift(w);
  else if (kind == "IsInf")
    is_infinite(w);
  else if (kind == "Mod")
    modulo(w);
  else if (kind == "Where")
    where(w);
  else if (kind == "PRelu")
    parametric_relu(w);
  else
    return false;
  return true;
}

}  // namespace tilescope::graph
