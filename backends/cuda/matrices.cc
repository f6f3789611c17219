// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/detail/matrices.h"

#include <algorithm>
#include <variant>

#include <fmt/format.h>

#include "backends/cuda/detail/amd_builtins.h"
#include "backends/cuda/detail/formula.h"
#include "base/check.h"

namespace tilescope::cuda {
namespace {

using arch::FragmentAxis;
using arch::FragmentBit;
using arch::FragmentMap;

// What a step along each axis adds to a number of places.
struct Weights {
  std::int64_t row = 0, column = 0, depth = 0;

  std::int64_t operator()(const FragmentBit& b) const {
    switch (b.axis) {
      case FragmentAxis::kNone:
        return 0;
      case FragmentAxis::kRow:
        return b.step * row;
      case FragmentAxis::kColumn:
        return b.step * column;
      case FragmentAxis::kDepth:
        return b.step * depth;
    }
    return 0;
  }
};

// " + lane % 4 * 2 + lane / 4 * 16": what the bits of a number add, those together of which each adds twice as much as
// the one before.
std::string sum_of(const std::vector<FragmentBit>& bits, std::string_view number, const Weights& weights) {
  std::string out;
  for (std::size_t b = 0; b < bits.size();) {
    const std::int64_t each = weights(bits[b]);
    std::size_t end = b + 1;
    while (end < bits.size() && each > 0 && weights(bits[end]) == each << (end - b)) ++end;
    if (each > 0) {
      out += fmt::format(" + {}", number);
      if (b > 0) out += fmt::format(" / {}", std::int64_t{1} << b);
      if (end < bits.size()) out += fmt::format(" % {}", std::int64_t{1} << (end - b));
      if (each > 1) out += fmt::format(" * {}", each);
    }
    b = end;
  }
  return out;
}

// The function that says the place of a lane's i-th element.
std::string place(std::string_view name, const FragmentMap& map, const Weights& weights) {
  const std::string of_lane = sum_of(map.lanes, "lane", weights), of_element = sum_of(map.elements, "i", weights);
  constexpr std::size_t kMaxColumns = 100;
  const bool broken = of_lane.size() + of_element.size() > kMaxColumns && !of_lane.empty();
  const std::string all = of_lane + (broken ? "\n          " : "") + of_element;
  return fmt::format("  static constexpr int {}(int{}, int{}) {{\n    return {};\n  }}\n", name,
                     of_lane.empty() ? "" : " lane", of_element.empty() ? "" : " i",
                     all.empty() ? "0" : all.substr(std::string_view(" + ").size()));
}

std::string constants(const std::vector<std::pair<std::string_view, std::int64_t>>& all) {
  std::string out;
  for (const auto& [name, value] : all) out += fmt::format("{}{} = {}", out.empty() ? "" : ", ", name, value);
  return fmt::format("  static constexpr int {};\n", out);
}

std::string on_the_cpu(const lower::MatrixInstruction& i) {
  const auto [m, n, k] = i.shape;
  if (!i.b)
    return fmt::format("  using sum = {};\n", type_of(i.sums)) +
           constants({{"m", m}, {"n", n}, {"k", k}, {"lanes", i.lanes}, {"held_of_d", i.c.elements_of_lane()}}) +
           place("place_in_d", i.c, {.row = n, .column = 1}) +
           (i.a ? constants({{"held_of_a", i.a->elements_of_lane()}}) +
                      place("place_in_a", *i.a, {.row = k, .depth = 1})
                : "");
  return constants({{"m", m}, {"n", n}, {"k", k}, {"lanes", i.lanes}}) +
         constants({{"held_of_a", i.a->elements_of_lane()},
                    {"held_of_b", i.b->elements_of_lane()},
                    {"held_of_d", i.c.elements_of_lane()}}) +
         place("place_in_a", *i.a, {.row = k, .depth = 1}) + place("place_in_b", *i.b, {.column = k, .depth = 1}) +
         place("place_in_d", i.c, {.row = n, .column = 1});
}

std::string on_the_cpu(const RowLoad& r) {
  return constants({{"rows", r.rows},
                    {"columns", r.columns},
                    {"lanes", r.map.lane_count()},
                    {"held", r.map.elements_of_lane()}}) +
         place("place", r.map, {.row = r.columns, .column = 1});
}

std::string body(const lower::MatrixInstruction& i, Dialect dialect) {
  return dialect == Dialect::kHip ? mfma_of(i) : mma_of(i);
}
std::string body(const RowLoad& r, Dialect dialect) { return dialect == Dialect::kHip ? "" : ldmatrix_of(r); }

std::string definition(std::string_view comment, std::string_view name, const std::string& members) {
  return fmt::format("// {}\nstruct {} {}\n\n", comment, name,
                     members.empty() ? "{};" : fmt::format("{{\n{}}};", members));
}

// How a function of the chip begins.
std::string_view device_function(Dialect d) {
  return d == Dialect::kHip ? "inline __attribute__((device, always_inline))" : "__device__ __forceinline__";
}

std::string function(Dialect dialect, std::string_view parameters, std::string_view name,
                     const std::string& statements) {
  return statements.empty() ? ""
                            : fmt::format("  static {} void {}({}) {{\n{}  }}\n", device_function(dialect), name,
                                          parameters, statements);
}

std::string text(const lower::MatrixInstruction& i, std::string_view name, Dialect dialect) {
  const std::string_view element = type_of(i.elements);
  const auto add = [&] {
    return i.b ? function(dialect, fmt::format("{}* d, const {}* a, const {}* b", type_of(i.sums), element, element),
                          "add", body(i, dialect))
               : std::string();
  };
  return definition(fmt::format("{}: {} x {} sums of {} products of {}, by {} lanes.", i.name, i.shape.m, i.shape.n,
                                i.shape.k, base::name_of(i.elements), i.lanes),
                    name, dialect == Dialect::kCpu ? on_the_cpu(i) : add());
}

std::string text(const RowLoad& r, std::string_view name, Dialect dialect) {
  const std::int64_t words = r.map.elements_of_lane() * base::size_of(r.dtype).n / 4;
  const auto load = [&] {
    const std::string statements = body(r, dialect);
    return statements.empty() ? ""
                              : constants({{"words", words}}) +
                                    function(dialect, "unsigned int* to, const void* from", "load", statements);
  };
  return definition(fmt::format("{} rows of {} {}, loaded by {} lanes together{}.", r.rows, r.columns,
                                base::name_of(r.dtype), r.map.lane_count(), r.transposed ? " and transposed" : ""),
                    name, dialect == Dialect::kCpu ? on_the_cpu(r) : load());
}

std::string_view title_of(Dialect d) { return d == Dialect::kHip ? "HIP" : "CUDA"; }

// Which dialects can say an instruction.
std::string known_to(const lower::MatrixInstruction& i) {
  if (!i.cuda.empty() && !i.hip.empty()) return "CUDA and HIP can";
  if (!i.cuda.empty()) return "CUDA can";
  if (!i.hip.empty()) return "HIP can";
  return "no dialect can";
}

}  // namespace

MatrixDefinitions::MatrixDefinitions(const lower::Module& module, NamePool& pool) {
  for (const lower::Kernel& k : module.kernels)
    lower::for_each_statement(k.body, [&](const lower::Statement& s) { add(k, s, pool); });
}

std::size_t MatrixDefinitions::add(const lower::MatrixInstruction& instruction, NamePool& pool) {
  const auto known = std::find_if(instructions_.begin(), instructions_.end(),
                                  [&](const Instruction& i) { return i.what.name == instruction.name; });
  if (known != instructions_.end()) return static_cast<std::size_t>(known - instructions_.begin());
  instructions_.push_back({instruction, pool.take(instruction.name)});
  return instructions_.size() - 1;
}

void MatrixDefinitions::add(const lower::Kernel& kernel, const lower::Statement& statement, NamePool& pool) {
  if (const auto* m = std::get_if<lower::Mma>(&statement.what)) {
    add(lower::instruction_of(kernel, *m), pool);
  } else if (const auto* products = std::get_if<lower::Wgmma>(&statement.what)) {
    const bool held = !products->a.has_value();
    const Staged s{add(lower::instruction_of(kernel, *products), pool), products->columns,
                   !held && products->a->transposed, products->b.transposed, held};
    // Where no lane holds the first factor, the text does not say how it would.
    std::optional<FragmentMap>& map = instructions_[s.instruction].what.a;
    if (held)
      map = lower::instruction_of(kernel, *products).a;
    else if (std::none_of(staged_.begin(), staged_.end(),
                          [&](const Staged& o) { return o.held && o.instruction == s.instruction; }))
      map.reset();
    if (std::find(staged_.begin(), staged_.end(), s) == staged_.end()) staged_.push_back(s);
  } else if (const auto* issued = std::get_if<lower::Tcgen05Mma>(&statement.what)) {
    const Staged s{add(lower::instruction_of(kernel, *issued), pool),
                   issued->columns,
                   issued->a.transposed,
                   issued->b.transposed,
                   false,
                   true};
    instructions_[s.instruction].what.a.reset();  // no lane holds a factor
    if (std::find(staged_.begin(), staged_.end(), s) == staged_.end()) staged_.push_back(s);
  } else if (const auto* sums = std::get_if<lower::Tcgen05Load>(&statement.what)) {
    const TensorLoad l{sums->elements, kernel.buffers[static_cast<std::size_t>(sums->to.buffer)].dtype};
    if (std::find(loads_.begin(), loads_.end(), l) == loads_.end()) loads_.push_back(l);
  } else if (const auto* load = std::get_if<lower::LoadMatrix>(&statement.what)) {
    RowLoad r{load->count, load->rows.elements, kernel.buffers[static_cast<std::size_t>(load->rows.to.buffer)].dtype,
              load->map, load->transposed};
    if (std::any_of(rows_.begin(), rows_.end(), [&](const Rows& o) { return o.what == r; })) return;
    const std::string name = fmt::format("rows_{}x{}{}", r.rows, r.columns, r.transposed ? "_transposed" : "");
    rows_.push_back({std::move(r), pool.take(name)});
  }
}

const std::string& MatrixDefinitions::name_of(const lower::MatrixInstruction& instruction) const {
  const auto known = std::find_if(instructions_.begin(), instructions_.end(),
                                  [&](const Instruction& i) { return i.what.name == instruction.name; });
  base::check(known != instructions_.end(), "an instruction of the module");
  return known->name;
}

const std::string& MatrixDefinitions::name_of(const lower::Kernel& kernel, const lower::LoadMatrix& load) const {
  const RowLoad r{load.count, load.rows.elements, kernel.buffers[static_cast<std::size_t>(load.rows.to.buffer)].dtype,
                  load.map, load.transposed};
  const auto known = std::find_if(rows_.begin(), rows_.end(), [&](const Rows& o) { return o.what == r; });
  base::check(known != rows_.end(), "a load of the module");
  return known->name;
}

std::vector<std::string> MatrixDefinitions::names() const {
  std::vector<std::string> out;
  for (const Rows& r : rows_) out.push_back(r.name);
  for (const Instruction& i : instructions_) out.push_back(i.name);
  return out;
}

std::string MatrixDefinitions::text(Dialect dialect) const {
  std::string out;
  for (const Rows& r : rows_) out += cuda::text(r.what, r.name, dialect);
  for (const Instruction& i : instructions_) out += cuda::text(i.what, i.name, dialect);
  if (dialect != Dialect::kCuda) return out;
  for (const TensorLoad& l : loads_)
    out += fmt::format("template <>\nstruct tcgen05_load_of<{}, {}> {{\n{}}};\n\n", type_of(l.sums), l.columns,
                       function(dialect, fmt::format("{}* d, unsigned int at", type_of(l.sums)), "load",
                                tcgen05_load_of(l.columns, l.sums)));
  for (const Staged& s : staged_) {
    const Instruction& i = instructions_[s.instruction];
    if (s.issued) {
      out += fmt::format("template <>\nstruct tcgen05_of<{}, {}, {}, {}> {{\n{}}};\n\n", i.name, s.columns, s.along_m,
                         s.along_n,
                         function(dialect, "unsigned int d, unsigned long long a, unsigned long long b, int adds",
                                  "add", tcgen05_of(i.what, s.columns, s.along_m, s.along_n)));
      continue;
    }
    const std::string a = s.held ? fmt::format("const {}* a", type_of(i.what.elements)) : "unsigned long long a";
    const std::string of = s.held ? fmt::format("wgmma_held_of<{}, {}, {}>", i.name, s.columns, s.along_n)
                                  : fmt::format("wgmma_of<{}, {}, {}, {}>", i.name, s.columns, s.along_m, s.along_n);
    out +=
        fmt::format("template <>\nstruct {} {{\n{}}};\n\n", of,
                    function(dialect, fmt::format("{}* d, {}, unsigned long long b, int adds", type_of(i.what.sums), a),
                             "add", wgmma_of(i.what, s.columns, s.along_m, s.along_n, s.held)));
  }
  return out;
}

bool MatrixDefinitions::is_issued(const Instruction& i) const {
  return std::any_of(staged_.begin(), staged_.end(),
                     [&](const Staged& s) { return s.issued && &instructions_[s.instruction] == &i; });
}

std::vector<std::string> MatrixDefinitions::refusals(Dialect dialect) const {
  std::vector<std::string> out;
  const std::string_view title = title_of(dialect);
  for (const Instruction& i : instructions_) {
    const bool staged = !i.what.b.has_value();
    const std::string& called = dialect == Dialect::kHip ? i.what.hip : i.what.cuda;
    if (called.empty())
      out.push_back(fmt::format("instruction {}: {} has no word for it; {}", i.what.name, title, known_to(i.what)));
    else if (staged && dialect == Dialect::kHip)
      out.push_back(fmt::format("instruction {}: HIP has no words for factors in the scratchpad", i.what.name));
    else if ((is_issued(i) ? tcgen05_of(i.what, i.what.shape.n, false, false)
              : staged     ? wgmma_of(i.what, i.what.shape.n, false, false)
                           : body(i.what, dialect))
                 .empty())
      out.push_back(fmt::format("instruction {}: {} has no registers for its sums of {}", i.what.name, title,
                                base::name_of(i.what.sums)));
  }
  for (const Rows& r : rows_)
    if (body(r.what, dialect).empty())
      out.push_back(fmt::format("{} has no word for {} rows of {} B that {} lanes load together{}", title, r.what.rows,
                                r.what.columns * base::size_of(r.what.dtype).n, r.what.map.lane_count(),
                                r.what.transposed ? " and transpose" : ""));
  return out;
}

}  // namespace tilescope::cuda
