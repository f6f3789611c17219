#include "experiments/emit.h"

#include "backends/cuda/emit.h"
#include "experiments/given.h"
#include "lower/lower.h"
#include "lower/print.h"
#include "tile/program_json.h"

namespace tilescope::experiments {
namespace {

std::optional<lower::Module> lowered(const tile::RProgram& p, const arch::ArchSpec& a, base::Position at,
                                     base::Diagnostics& diags) {
  std::vector<std::string> why;
  auto module = lower::lower(p, a, why);
  for (const std::string& w : why) diags.error(at, w);
  return module;
}

}  // namespace

std::optional<std::string> kernel_text(const base::Value& document, const arch::ArchSpec& a, base::Diagnostics& diags) {
  const auto program = tile::read_program(document, a, diags);
  if (!program) return std::nullopt;
  const auto module = lowered(*program, a, {diags.add_source("program")}, diags);
  if (!module) return std::nullopt;
  return lower::print(*module);
}

std::optional<std::string> emit_cuda(const NamedText& file, const arch::ArchSpec& a, base::Diagnostics& diags) {
  const auto program = read_program_file(file, a, diags);
  if (!program) return std::nullopt;
  const auto module = lowered(*program, a, {diags.add_source(file.name)}, diags);
  if (!module) return std::nullopt;
  std::string about;
  for (const tile::StageProgram& p : program->stages) about += p.space->stage().text + "\n";
  return cuda::emit(*module, about).text;
}

}  // namespace tilescope::experiments
