// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/detail/units.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backends/cuda/detail/prelude.h"
#include "base/hash.h"

namespace tilescope::cuda {
namespace {

// What a kernel, or what is defined for it, is called among those of all modules.
std::string unique_name(const KeyedModule& m, const std::string& name) { return fmt::format("k{}_{}", m.key, name); }

std::string listed(const TensorMap& m, std::int64_t TensorMap::Dim::* what) {
  std::vector<std::int64_t> out;
  for (std::size_t d = m.dims.size(); d-- > 0;) out.push_back(m.dims[d].*what);
  return fmt::format("{}", fmt::join(out, ", "));
}

// What backends/cuda/tma.cuh calls a tensor map on the CPU.
std::string map_of(const TensorMap& m) {
  return fmt::format("tilescope_tensor_map{{globals[{}], {}, {}, {}, {{{}}}, {{{}}}, {{{}}}}}", m.global,
                     base::size_of(m.dtype).n, m.swizzled_row, m.dims.size(), listed(m, &TensorMap::Dim::extent),
                     listed(m, &TensorMap::Dim::stride), listed(m, &TensorMap::Dim::box));
}

std::string launch_function(const KeyedModule& m, std::size_t number) {
  const EmittedKernel& k = m.emitted.kernels[number];
  std::vector<std::string> arguments;
  for (const int g : k.globals) arguments.push_back(fmt::format("AnyPointer{{globals[{}]}}", g));
  for (const TensorMap& map : k.maps) arguments.push_back(map_of(map));
  for (const int s : k.scalars)
    arguments.push_back(fmt::format("{}(scalars[{}])", k.wide_scalars ? "double" : "float", s));
  const auto lines = [](const std::vector<int>& all) {
    std::string out;
    for (const int line : all) out += fmt::format(", {}", line);
    return out;
  };
  return fmt::format(
      "void launch_{0}_{1}([[maybe_unused]] void* const* globals, [[maybe_unused]] const double* scalars) {{ {2}({3}); "
      "}}\n"
      "const int lines_{0}_{1}[] = {{0{4}}};\n"
      "const int boxes_{0}_{1}[] = {{0{5}}};\n",
      m.key, number, unique_name(m, k.name), fmt::join(arguments, ", "), lines(k.copy_lines), lines(k.box_lines));
}

std::string registration(const KeyedModule& m) {
  std::string out = "#line 1 \"launch\"\nnamespace {\nusing namespace tilescope::cuda::host;\n", table;
  for (std::size_t i = 0; i < m.emitted.kernels.size(); ++i) {
    const EmittedKernel& k = m.emitted.kernels[i];
    out += launch_function(m, i);
    table += fmt::format(
        "  {{\"{0}\", {1}, {9}, {2}, {3}, {4}, {5}, lines_{6}_{7} + 1, {8}, boxes_{6}_{7} + 1, "
        "&launch_{6}_{7}}},\n",
        k.name, k.blocks, k.threads, k.shared_bytes + k.tensor_bytes, k.shared_granule, k.copy_lines.size(), m.key, i,
        k.box_lines.size(), k.cluster);
  }
  return out + fmt::format(
                   "const KernelEntry kernels_{0}[] = {{\n{1}}};\nconst ModuleEntry module_{0}{{\"{0}\", {2}, "
                   "kernels_{0}}};\nconst Registration registration_{0}(module_{0});\n}}\n",
                   m.key, table, m.emitted.kernels.size());
}

}  // namespace

KeyedModule keyed(Emitted emitted) {
  std::string content = emitted.cpu_definitions + std::string(emitted.kernels_text());
  for (const EmittedKernel& k : emitted.kernels) {
    content += fmt::format("{} {} {} {} {} {} {}\n", k.name, k.blocks, k.cluster, k.threads,
                           k.shared_bytes + k.tensor_bytes, fmt::join(k.globals, ","), fmt::join(k.scalars, ","));
    for (const TensorMap& map : k.maps) content += map_of(map);
  }
  content += std::to_string(emitted.kernels_line);
  std::string key = base::content_hash(content);
  return {std::move(key), std::move(emitted)};
}

std::string unit_of(const std::vector<const KeyedModule*>& modules) {
  std::string named;  // by the modules of the prelude
  for (const KeyedModule* m : modules) named += m->emitted.cpu_definitions + std::string(m->emitted.kernels_text());
  std::string out = "#include \"backends/cuda/host/entry.h\"\n";
  out += fmt::format("#line 1 \"prelude.cuh\"\n{}", prelude_for(named, Dialect::kCpu));
  for (const KeyedModule* m : modules) {
    for (const EmittedKernel& k : m->emitted.kernels)
      out += fmt::format("#define {} {}\n", k.name, unique_name(*m, k.name));
    for (const std::string& d : m->emitted.definitions) out += fmt::format("#define {} {}\n", d, unique_name(*m, d));
    out += fmt::format("#line 1 \"definitions\"\n{}#line {} \"kernels.cu\"\n{}", m->emitted.cpu_definitions,
                       m->emitted.kernels_line, m->emitted.kernels_text());
    for (const EmittedKernel& k : m->emitted.kernels) out += fmt::format("#undef {}\n", k.name);
    for (const std::string& d : m->emitted.definitions) out += fmt::format("#undef {}\n", d);
    out += registration(*m);
  }
  return out;
}

}  // namespace tilescope::cuda
