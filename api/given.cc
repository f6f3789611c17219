// SPDX-License-Identifier: Apache-2.0
#include "api/given.h"

#include <algorithm>

#include <fmt/format.h>

#include "api/common/parallel.h"
#include "api/constructed.h"
#include "api/instructions.h"
#include "api/workload.h"
#include "lower/kernel.h"
#include "targets/lowered.h"
#include "targets/target.h"
#include "tile/fit.h"
#include "tile/program_json.h"

namespace tilescope::api {
namespace {

bool blank(std::string_view line) { return line.find_first_not_of(" \t\r") == std::string_view::npos; }

std::vector<GivenProgram> programs_of(std::vector<ConstructedOperator> operators) {
  std::vector<GivenProgram> out;
  for (ConstructedOperator& c : operators) {
    GivenProgram op;
    op.id = op.place = c.op.id;
    op.kind = c.op.kind;
    op.count = c.op.count;
    if (!c.found.error.empty()) op.errors.push_back(op.place + ": " + c.found.error);
    if (c.found.programs.empty()) out.push_back(op);
    for (std::size_t r = 0; r < c.found.programs.size(); ++r) {
      GivenProgram& given = out.emplace_back(op);
      given.rank = r;
      given.program = std::move(c.found.programs[r].program);
    }
  }
  return out;
}

std::optional<tile::RProgram> with_registers(tile::RProgram p, const arch::ArchSpec& a, base::Diagnostics& diags,
                                             const tile::ProgramPlaces& at) {
  const auto* stages = std::get_if<std::vector<tile::StageProgram>>(&p.nodes);
  for (std::size_t s = 0; stages != nullptr && s < stages->size(); ++s)
    if (!tile::holds_registers((*stages)[s], a)) tile::check_registers((*stages)[s], a, diags, at.at(s));
  return diags.ok() ? std::optional(std::move(p)) : std::nullopt;
}

}  // namespace

std::vector<std::pair<std::size_t, std::string_view>> batch_lines(std::string_view text) {
  std::vector<std::pair<std::size_t, std::string_view>> out;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (const std::string_view line = text.substr(0, end); !blank(line)) out.emplace_back(number, line);
    text.remove_prefix(std::min(text.size(), end + 1));
  }
  return out;
}

std::string LineReader::at_line(std::size_t number, std::string_view text) const {
  return fmt::format("{}:{}: {}", source_, number, text);
}

GivenProgram LineReader::read(std::string_view line, std::size_t number) {
  base::Diagnostics diags;
  const base::SourceId source = diags.add_source(source_);
  GivenProgram out;
  out.place = source_ + ':' + std::to_string(number);
  const auto value = base::read_json_line(line, source, static_cast<std::uint32_t>(number), diags);
  auto read = value ? tile::read_batch_line(*value, arch_, spaces_, diags) : std::nullopt;
  if (!read) {
    const base::Value* id = value ? value->find("id") : nullptr;
    if (const std::string* text = id == nullptr ? nullptr : id->get_if<std::string>()) out.id = *text;
    out.errors = diags.formatted_errors();
    return out;
  }
  out.id = std::move(read->id);
  out.group = std::move(read->group);
  out.measured_us = read->measured_us;
  out.count = read->count;
  out.places = tile::places_of(*value, arch_);
  if (out.measured_us)  // it ran, whatever the checks say, but not with more registers than there are
    out.program = with_registers(std::move(read->program), arch_, diags, out.places);
  else
    out.program = targets::target_of(arch_).retargeted_to(std::move(read->program), arch_, diags, out.places);
  out.errors = diags.formatted_errors();
  return out;
}

std::vector<GivenProgram> read_measured(const NamedText& batch, const arch::ArchSpec& a, int jobs, bool needs_time) {
  const std::vector<std::pair<std::size_t, std::string_view>> lines = batch_lines(batch.text);
  std::vector<GivenProgram> out(lines.size());
  parallel_for(lines.size(), jobs, [&] {
    return [&, reader = LineReader(batch.name, a)](std::size_t i) mutable {
      out[i] = reader.read(lines[i].second, lines[i].first);
      if (needs_time && out[i].errors.empty() && !out[i].measured_us)
        out[i].errors.push_back(out[i].place + ": measured_us is missing");
    };
  });
  return out;
}

bool takes(const ProgramFilter& filter, const tile::RProgram& program) {
  const auto* stages = std::get_if<std::vector<tile::StageProgram>>(&program.nodes);
  if (stages == nullptr) return true;  // cores that exchange have no threads of tiles to filter by
  const tile::StageProgram& p = stages->front();
  std::int64_t accumulators = 1;
  for (const tile::AxisMapping& m : p.mapping) accumulators *= m.thread_extent();
  return p.threads() >= filter.min_threads && (!filter.max_accumulators || accumulators <= *filter.max_accumulators);
}

std::optional<tile::RProgram> read_program_file(const NamedText& file, const arch::ArchSpec& a,
                                                base::Diagnostics& diags, tile::ProgramPlaces* places) {
  const base::SourceId id = diags.add_source(file.name);
  const auto document = base::read_json(file.text, id, diags);
  auto program = document ? tile::read_program(*document, a, diags) : std::nullopt;
  if (!program) return std::nullopt;
  const bool of_other_chip = !program->arch.empty() && program->arch != a.name;
  if (of_other_chip) diags.note({id}, fmt::format("made for {}, used on {}", program->arch, a.name));
  const targets::Target& target = targets::target_of(a);
  const tile::ProgramPlaces at = tile::places_of(*document, a);
  if (places != nullptr) *places = at;
  // What a file states for its own chip holds, whatever a chip of that name is changed to.
  program = of_other_chip ? targets::carried_to(a, std::move(*program), diags, at)
                          : target.retargeted_to(std::move(*program), a, diags, at);
  if (program && target.lower.why_unsupported().empty()) target.lower(*program, a, diags, at);
  if (!diags.ok()) return std::nullopt;
  note_instructions(*program, a, diags);
  return program;
}

std::optional<std::vector<GivenProgram>> given_programs(const ProgramSource& source, const arch::ArchSpec& a, int jobs,
                                                        base::Diagnostics& diags, std::optional<Sequence>* sequence) {
  if (source.program) {
    auto program = read_program_file(*source.program, a, diags);
    if (!program) return std::nullopt;
    std::vector<GivenProgram> out(1);
    out.front().id = out.front().place = source.program->name;
    out.front().program = std::move(program);
    return out;
  }
  if (source.batch) {
    LineReader reader(source.batch->name, a);
    std::vector<GivenProgram> out;
    for (const auto& [number, line] : batch_lines(source.batch->text)) out.push_back(reader.read(line, number));
    note_instructions(out, a, diags);
    return out;
  }
  auto operators = expressions_of(source.workload, diags);
  if (!operators) return std::nullopt;
  if (source.workload.sequence && sequence != nullptr) *sequence = Sequence::of(*operators, a, diags);
  const std::size_t keep = source.workload.sequence ? 1 : source.top;
  auto constructed = construct_operators(
      std::move(*operators), source.workload, a, {Search::kRoller}, keep, jobs, [](std::size_t, std::size_t) {}, diags);
  if (!constructed) return std::nullopt;
  return programs_of(std::move(*constructed));
}

}  // namespace tilescope::api
