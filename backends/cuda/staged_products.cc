#include "backends/cuda/staged_products.h"

#include <set>
#include <tuple>
#include <variant>

#include <fmt/format.h>

#include "backends/cuda/formula.h"
#include "base/check.h"

namespace tilescope::cuda {
namespace {

// One instruction: columns, whether the rows of either factor run along m or n, and the factors' dtype.
struct Product {
  std::int64_t n = 8, k = 16;
  bool along_m = false, along_n = false;
  base::Dtype dtype{};

  auto key() const { return std::tuple(dtype, n, k, along_m, along_n); }
  bool operator<(const Product& o) const { return key() < o.key(); }
};

void collect(const lower::Kernel& k, std::set<Product>& out) {
  lower::for_each_statement(k.body, [&](const lower::Statement& s) {
    if (const auto* m = std::get_if<lower::MultiplyStaged>(&s.what))
      out.insert({m->columns, lower::instruction_of(k, *m).shape.k, m->a.transposed, m->b.transposed,
                  k.buffers[static_cast<std::size_t>(m->a.at.buffer)].dtype});
  });
}

constexpr std::int64_t kInALine = 8;  // operands

// "{first + i}" of `count` of them, `kInALine` in a line of text between quotes.
template <class Word>
std::string listed(std::int64_t count, std::string_view begin, std::string_view end, std::string_view indent,
                   Word word) {
  std::string out;
  for (std::int64_t i = 0; i < count; ++i) {
    if (i % kInALine == 0) out += fmt::format("{}{}{}", i == 0 ? "" : fmt::format("{}\n", end), indent, begin);
    out += word(i);
    if (i + 1 < count) out += i % kInALine + 1 < kInALine ? ", " : ",";
  }
  return out + fmt::format("{}\n", end);
}

std::string definition(const Product& p) {
  const std::string_view type = type_of(p.dtype), name = base::name_of(p.dtype);
  const std::int64_t sums = p.n / 2;  // of a lane
  // Only elements of two bytes may run along m or n.
  const std::string ways =
      base::size_of(p.dtype).n == 2 ? fmt::format(", {}, {}", p.along_m ? 1 : 0, p.along_n ? 1 : 0) : "";
  std::string out = fmt::format(
      "template <>\n"
      "struct tilescope_products<{0}, {1}, {2}, {3}> {{\n"
      "  static TILESCOPE_DEVICE void add(float* d, unsigned long long a, unsigned long long b) {{\n"
      "    asm volatile(\"{{\\n.reg .pred adds;\\nsetp.ne.b32 adds, 1, 0;\\n\"\n"
      "                 \"wgmma.mma_async.sync.aligned.m64n{0}k{4}.f32.{5}.{5} {{\"\n",
      p.n, p.along_m, p.along_n, type, p.k, name);
  const std::string indent(17, ' ');
  out += listed(sums, "\"", "\"", indent, [](std::int64_t i) { return fmt::format("%{}", i); });
  out += fmt::format("{0}\"}}, %{1}, %{2}, adds, 1, 1{3};\\n}}\\n\"\n{0}:\n", indent, sums, sums + 1, ways);
  out += listed(sums, "", "", indent, [](std::int64_t i) { return fmt::format("\"+f\"(d[{}])", i); });
  return out + fmt::format("{}: \"l\"(a), \"l\"(b));\n  }}\n}};\n", indent);
}

}  // namespace

std::string staged_products(const lower::Module& module) {
  std::set<Product> all;
  for (const lower::Kernel& k : module.kernels) collect(k, all);
  if (all.empty()) return {};
  std::string out = "\n#if defined(__CUDACC__)\n\n";
  for (const Product& p : all) out += definition(p) + "\n";
  return out + "#endif\n";
}

}  // namespace tilescope::cuda
