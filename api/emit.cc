// SPDX-License-Identifier: Apache-2.0
#include "api/emit.h"

#include <algorithm>

#include <fmt/format.h>

#include "api/code.h"
#include "api/detail/launch_document.h"
#include "api/detail/launcher.h"
#include "api/given.h"
#include "api/given_kernels.h"
#include "backends/cuda/emit.h"
#include "base/option.h"
#include "lower/kernel_schema.h"
#include "targets/lowered.h"
#include "targets/target.h"
#include "tile/program_json.h"

namespace tilescope::api {
namespace {

// The dialect of that name, or an error that lists the names.
std::optional<cuda::Dialect> dialect_of(std::string_view name, base::Diagnostics& diags) {
  if (name == "cuda") return cuda::Dialect::kCuda;
  if (name == "hip") return cuda::Dialect::kHip;
  if (name == "cpu") return cuda::Dialect::kCpu;
  diags.error({diags.add_source(base::option("dialect"))},
              fmt::format("expected one of cuda, hip, cpu, got '{}'{}", name,
                          base::did_you_mean(name, {"cuda", "hip", "cpu"})));
  return std::nullopt;
}

std::optional<EmittedProgram> emitted(const targets::Lowered& kernels, const std::string& about, cuda::Dialect language,
                                      const arch::ArchSpec& a, base::Diagnostics& diags, base::Position at) {
  auto text = targets::target_of(a).emit(kernels, about, language, diags, at);
  if (!text || !diags.ok()) return std::nullopt;
  base::Value document = launch_document(kernels.module(), *text);
  return EmittedProgram{std::move(text->text), std::move(document)};
}

// The kernels of a file, what they compute, and where errors about them stand.
struct GivenFile {
  targets::Lowered kernels;
  std::string about;
  base::Position at;
};

std::optional<GivenFile> program_of_file(const NamedText& file, const arch::ArchSpec& a, base::Diagnostics& diags) {
  const auto program = read_program_file(file, a, diags);
  if (!program) return std::nullopt;
  const base::Position at{diags.add_source(file.name)};
  auto kernels = targets::target_of(a).lower(*program, a, diags, at);
  if (!kernels) return std::nullopt;
  return GivenFile{std::move(*kernels), about(*program), at};
}

std::optional<GivenFile> kernels_of_file(const NamedText& file, const arch::ArchSpec& a, base::Diagnostics& diags) {
  auto kernels = read_kernel_file(file, a, diags);
  if (!kernels) return std::nullopt;
  std::string head = kernels->computes ? about(*kernels->computes) : std::string();
  return GivenFile{{std::move(kernels->module)}, std::move(head), {diags.add_source(file.name)}};
}

// Arrays of integers that copies gather by, each with a bound of the indices that are drawn for it.
IndexLimits index_limits(const lower::Module& m) {
  IndexLimits out;
  const auto tables = lower::index_tables(m);
  for (std::size_t g = 0; g < tables.size(); ++g)
    if (tables[g] != nullptr && !tables[g]->empty())
      out[m.globals[g].name] = 1 + *std::max_element(tables[g]->begin(), tables[g]->end());
  return out;
}

std::optional<targets::Lowered> lowered(const base::Value& document, const arch::ArchSpec& a,
                                        base::Diagnostics& diags) {
  const auto program = tile::read_program(document, a, diags);
  if (!program) return std::nullopt;
  return targets::target_of(a).lower(*program, a, diags, base::Position{diags.add_source("program")});
}

}  // namespace

std::optional<std::string> kernel_text(const base::Value& document, const arch::ArchSpec& a, base::Diagnostics& diags) {
  const auto kernels = lowered(document, a, diags);
  if (!kernels) return std::nullopt;
  return targets::target_of(a).print(*kernels);
}

std::optional<base::Value> kernel_document(const base::Value& document, const arch::ArchSpec& a,
                                           base::Diagnostics& diags) {
  const auto kernels = lowered(document, a, diags);
  if (!kernels) return std::nullopt;
  const base::List& edges = *document.find("edges")->get_if<base::List>();
  const bool carried =
      std::any_of(edges.begin(), edges.end(), [](const base::Value& e) { return e.find("carried") != nullptr; });
  return lower::to_document(kernels->module(), a.name, *document.find("nodes")->get_if<base::List>(), carried);
}

base::Value kernels_schema() { return lower::kernels_schema(); }

std::optional<EmittedProgram> emit_program(const NamedText& file, std::string_view dialect, const arch::ArchSpec& a,
                                           base::Diagnostics& diags) {
  const auto language = dialect_of(dialect, diags);
  const auto given = program_of_file(file, a, diags);
  if (!language || !given) return std::nullopt;
  return emitted(given->kernels, given->about, *language, a, diags, given->at);
}

std::optional<EmittedProgram> emit_kernels(const NamedText& file, std::string_view dialect, const arch::ArchSpec& a,
                                           base::Diagnostics& diags) {
  const auto language = dialect_of(dialect, diags);
  const auto given = kernels_of_file(file, a, diags);
  if (!language || !given) return std::nullopt;
  return emitted(given->kernels, given->about, *language, a, diags, given->at);
}

std::optional<std::vector<EmittedFile>> emit_with_launcher(const NamedText& file, bool is_program,
                                                           std::string_view dialect, const arch::ArchSpec& a,
                                                           base::Diagnostics& diags) {
  if (const auto language = dialect_of(dialect, diags); language && *language != cuda::Dialect::kCuda)
    diags.error({diags.add_source(base::option("dialect"))},
                fmt::format("a launcher calls the CUDA driver; '{}' has none", dialect));
  if (!diags.ok()) return std::nullopt;
  const auto given = is_program ? program_of_file(file, a, diags) : kernels_of_file(file, a, diags);
  if (!given) return std::nullopt;
  auto program = emitted(given->kernels, given->about, cuda::Dialect::kCuda, a, diags, given->at);
  if (!program) return std::nullopt;
  return std::vector<EmittedFile>{
      {"kernels.cu", std::move(program->text)},
      {"launch.cc", launcher_text(program->document, given->about, index_limits(given->kernels.module()))},
      {"Makefile", launcher_makefile(a)}};
}

}  // namespace tilescope::api
