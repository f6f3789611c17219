// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/detail/ptx.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/check.h"

namespace tilescope::cuda {
namespace {

constexpr std::int64_t kWord = 4;  // bytes of a register

// What ldmatrix loads (PTX ISA, "Warp-level matrix load instruction: ldmatrix"): 1, 2 or 4 matrices of eight rows of 16
// bytes; of each a lane has 4 neighbouring bytes of a row, or, transposed, two elements of 2 bytes of a column.
constexpr std::int64_t kLanes = 32, kRows = 8, kRowBytes = 16, kMaxMatrices = 4, kTransposed = 2;
constexpr std::int64_t kLanesOfRow = kRowBytes / kWord;

constexpr std::int64_t kInALine = 8;  // operands

// `count` texts with commas between, so many in a line; each line stands between `begin` and `end`.
template <class Text>
std::string listed(std::int64_t count, std::string_view begin, std::string_view end, std::string_view indent, Text text,
                   std::int64_t in_a_line = kInALine) {
  std::string out;
  for (std::int64_t i = 0; i < count; ++i) {
    if (i % in_a_line == 0) out += fmt::format("{}{}{}", i == 0 ? "" : fmt::format("{}\n", end), indent, begin);
    out += text(i);
    if (i + 1 < count) out += i % in_a_line + 1 < in_a_line ? ", " : ",";
  }
  return out + std::string(end);
}

// "{%4, %5}"
std::string operands(std::int64_t first, std::int64_t count) {
  return "{" + listed(count, "", "", "", [&](std::int64_t i) { return fmt::format("%{}", first + i); }) + "}";
}

// The register of a sum, as an asm statement names it; none where sums of that size have no registers of their own.
std::optional<char> register_of(base::Dtype sums) {
  const std::int64_t bytes = base::size_of(sums).n;
  if (bytes == 2 * kWord) return 'd';
  if (bytes != kWord) return std::nullopt;
  return base::is_integer(sums) ? 'r' : 'f';
}

// What a lane holds of a factor: in words of four bytes, or, where elements are wider, in registers of their own.
struct Factor {
  std::string name, words;  // parameter, and what its words are called
  std::int64_t registers = 0;
  bool wide = false, whole = true;  // a lane's elements fill its words

  Factor(std::string_view parameter, std::string_view called, const arch::FragmentMap& map, base::Dtype dtype)
      : name(parameter), words(called) {
    const std::int64_t bytes = base::size_of(dtype).n;
    wide = bytes > kWord;
    whole = map.elements_of_lane() * bytes % kWord == 0;
    registers = wide ? map.elements_of_lane() : map.elements_of_lane() * bytes / kWord;
  }
  std::string definition() const {
    return wide ? "" : fmt::format("    const lane_words<{}> {}{{{}}};\n", registers, words, name);
  }
  std::string operand(std::int64_t i) const {
    return wide ? fmt::format("\"d\"({}[{}])", name, i) : fmt::format("\"r\"({}.at[{}])", words, i);
  }
};

// The word of a lane's elements that holds its part of a matrix; none where no word does.
std::optional<std::int64_t> word_of_matrix(const RowLoad& load, std::int64_t matrix) {
  const std::int64_t in_word = kWord / base::size_of(load.dtype).n;
  const auto holds = [&](std::int64_t word) {
    for (std::int64_t lane = 0; lane < kLanes; ++lane)
      for (std::int64_t e = 0; e < in_word; ++e) {
        const std::int64_t near = lane % kLanesOfRow * in_word + e, far = lane / kLanesOfRow;
        const arch::FragmentPlace at = load.map.place_of(lane, word * in_word + e);
        if (at.row != matrix * kRows + (load.transposed ? near : far) || at.column != (load.transposed ? far : near))
          return false;
      }
    return true;
  };
  for (std::int64_t word = 0; word < load.map.elements_of_lane() / in_word; ++word)
    if (holds(word)) return word;
  return std::nullopt;
}

}  // namespace

std::string ldmatrix_of(const RowLoad& load) {
  const std::int64_t bytes = base::size_of(load.dtype).n, matrices = load.rows / kRows;
  const bool powers = matrices == 1 || matrices == 2 || matrices == kMaxMatrices;
  if (load.rows % kRows != 0 || !powers || bytes > kWord || load.columns * bytes != kRowBytes) return {};
  if (load.map.lane_count() != kLanes || load.map.elements_of_lane() * bytes != matrices * kWord) return {};
  if (load.transposed && bytes != kTransposed) return {};
  std::vector<std::int64_t> words;
  for (std::int64_t m = 0; m < matrices; ++m) {
    const std::optional<std::int64_t> word = word_of_matrix(load, m);
    if (!word) return {};
    words.push_back(*word);
  }
  return fmt::format(
      "    asm volatile(\"ldmatrix.sync.aligned.m8n8.x{}{}.shared.b16 {}, [%{}];\"\n                 : {}\n"
      "                 : \"r\"(static_cast<unsigned int>(__cvta_generic_to_shared(from)))\n"
      "                 : \"memory\");\n",
      matrices, load.transposed ? ".trans" : "", operands(0, matrices), matrices,
      listed(matrices, "", "", "",
             [&](std::int64_t i) { return fmt::format("\"=r\"(to[{}])", words[static_cast<std::size_t>(i)]); }));
}

std::string mma_of(const lower::MatrixInstruction& i) {
  const std::optional<char> sum = register_of(i.sums);
  if (i.cuda.empty() || !sum || !i.a || !i.b) return {};
  const Factor a("a", "x", *i.a, i.elements), b("b", "y", *i.b, i.elements);
  if (!a.whole || !b.whole) return {};
  const std::int64_t sums = i.c.elements_of_lane();
  const std::string d = operands(0, sums), next = "\n" + std::string(10, ' ');
  const auto broken = [&](std::string text) {
    for (std::size_t at = text.find('\n'); at != std::string::npos; at = text.find('\n', at + next.size()))
      text.replace(at, 1, next);
    return text;
  };
  return fmt::format(
      "{}{}    asm volatile(\n        \"{} \"\n        \"{}, {}, {}, {};\"\n        : {}\n        : {},{}{});\n",
      a.definition(), b.definition(), i.cuda, d, operands(sums, a.registers), operands(sums + a.registers, b.registers),
      d, broken(listed(sums, "", "", "", [&](std::int64_t n) { return fmt::format("\"+{}\"(d[{}])", *sum, n); })),
      broken(listed(a.registers, "", "", "", [&](std::int64_t n) { return a.operand(n); })), next,
      broken(listed(b.registers, "", "", "", [&](std::int64_t n) { return b.operand(n); })));
}

std::string wgmma_of(const lower::MatrixInstruction& i, std::int64_t columns, bool along_m, bool along_n, bool held) {
  const std::optional<char> sum = register_of(i.sums);
  if (i.cuda.empty() || !sum || (held && !i.a)) return {};
  const std::optional<Factor> words = held ? std::optional<Factor>({"a", "x", *i.a, i.elements}) : std::nullopt;
  if (words && (words->wide || !words->whole)) return {};
  const std::int64_t sums = i.c.elements_of_lane() * columns / i.shape.n;
  // Signs that factors of floats may have, and which way rows run, which is a choice for elements of two bytes alone.
  const std::string signs = base::is_integer(i.elements) ? "" : ", 1, 1";
  const std::string way_of_a = held ? "" : fmt::format(", {}", along_m ? 1 : 0);
  const std::string ways =
      base::size_of(i.elements).n == kTransposed ? fmt::format("{}, {}", way_of_a, along_n ? 1 : 0) : "";
  std::string name = i.cuda;
  if (const std::size_t n = name.find('N'); n != std::string::npos) name.replace(n, 1, std::to_string(columns));
  // The operands of the sums by the macros SUMS_16 and SUMS_4 of wgmma.cuh.
  const auto [many, few] = std::pair<std::int64_t, std::int64_t>(16, 4);
  std::vector<std::string> groups;
  for (std::int64_t n = 0; n < sums; n += sums - n >= many ? many : few)
    groups.push_back(fmt::format("SUMS_{}(\"+{}\", {})", sums - n >= many ? many : few, *sum, n));
  const std::string indent(8, ' ');
  const std::int64_t operands_of_a = words ? words->registers : 1;
  const std::string a = words ? operands(sums, words->registers) : fmt::format("%{}", sums);
  const std::string given =
      words ? listed(words->registers, "", "", "", [&](std::int64_t n) { return words->operand(n); }) : "\"l\"(a)";
  return fmt::format(
      "{9}    asm volatile(\n{0}\"{{\\n.reg .pred adds;\\nsetp.ne.b32 adds, %{1}, 0;\\n\"\n"
      "{0}\"{2} {{\"\n{3}\n{0}\"}}, {4}, %{5}, adds{6}{7};\\n}}\\n\"\n{0}: {8}\n{0}: {10}, \"l\"(b), "
      "\"r\"(adds));\n",
      indent, sums + operands_of_a + 1, name,
      listed(
          sums, "\"", "\"", indent, [](std::int64_t n) { return fmt::format("%{}", n); }, many),
      a, sums + operands_of_a, signs, ways,
      listed(
          std::ssize(groups), "", "", indent + "  ",
          [&](std::int64_t n) { return groups[static_cast<std::size_t>(n)]; }, 4)
          .substr(indent.size() + 2),
      words ? words->definition() : "", given);
}

namespace {

// What the instruction descriptor calls a factor's elements (PTX ISA, tcgen05, "Instruction descriptor").
std::optional<std::int64_t> tcgen05_elements(base::Dtype d) {
  switch (d) {
    case base::Dtype::kF16:
    case base::Dtype::kF8E4M3:
      return 0;
    case base::Dtype::kBf16:
    case base::Dtype::kF8E5M2:
      return 1;
    case base::Dtype::kTf32:
      return 2;
    default:
      return std::nullopt;
  }
}

}  // namespace

std::string tcgen05_of(const lower::MatrixInstruction& i, std::int64_t columns, bool along_m, bool along_n) {
  const std::optional<std::int64_t> elements = tcgen05_elements(i.elements);
  if (i.cuda.empty() || !elements || i.sums != base::Dtype::kF32) return {};
  // In the order of the descriptor's bits, from sums of f32 on.
  const std::int64_t descriptor = 1 << 4 | *elements << 7 | *elements << 10 | (along_m ? 1 << 15 : 0) |
                                  (along_n ? 1 << 16 : 0) | columns / 8 << 17 | i.shape.m / 16 << 24;
  return fmt::format(
      "    asm volatile(\n        \"{{\\n.reg .pred adds;\\nsetp.ne.b32 adds, %4, 0;\\n\"\n"
      "        \"{} [%0], %1, %2, %3, adds;\\n}}\\n\" ::\"r\"(d),\n"
      "        \"l\"(a), \"l\"(b), \"r\"({:#x}), \"r\"(adds)\n        : \"memory\");\n",
      i.cuda, descriptor);
}

std::string tcgen05_load_of(std::int64_t columns, base::Dtype sums) {
  const std::optional<char> sum = register_of(sums);
  base::check(sum.has_value(), "a column is a register");
  const std::string indent(8, ' ');
  return fmt::format(
      "    asm volatile(\n{0}\"tcgen05.ld.sync.aligned.32x32b.x{1}.b32 {{\"\n{2}\n{0}\"}}, [%{1}];\\n\"\n"
      "{0}\"tcgen05.wait::ld.sync.aligned;\"\n{0}: {3}\n{0}: \"r\"(at)\n{0}: \"memory\");\n",
      indent, columns,
      listed(
          columns, "\"", "\"", indent, [](std::int64_t n) { return fmt::format("%{}", n); }, 16),
      listed(
          columns, "", "", indent + "  ", [&](std::int64_t n) { return fmt::format("\"={}\"(d[{}])", *sum, n); }, 4)
          .substr(indent.size() + 2));
}

}  // namespace tilescope::cuda
