// SPDX-License-Identifier: Apache-2.0
#include "import/import.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "import/chip_file.h"
#include "import/formats.h"
#include "import/recognize.h"

namespace tilescope::importers {
namespace {

using Reader = std::optional<Imported> (*)(const Source&, base::Diagnostics&);

struct FormatRow {
  Format format;
  std::string_view file;  // what its file is
  Reader read;
};

constexpr std::array kFormats = {
    FormatRow{{"gpgpusim", "a chip: gpgpusim.config of GPGPU-Sim and Accel-Sim"},
              "a GPGPU-Sim configuration",
              &import_gpgpusim},
    FormatRow{{"llmcompass", "a chip: a device of LLMCompass (JSON)"}, "an LLMCompass device", &import_llmcompass},
    FormatRow{
        {"dramsim3", "a memory: a configuration of DRAMsim3 (.ini)"}, "a DRAMsim3 configuration", &import_dramsim3},
    FormatRow{{"ramulator2", "a memory: a configuration of Ramulator 2 (YAML)"},
              "a Ramulator 2 configuration",
              &import_ramulator2},
    FormatRow{{"timeloop", "an operator: a problem of Timeloop (YAML)"}, "a Timeloop problem", &import_timeloop},
    FormatRow{{"zigzag", "operators: a workload of ZigZag (YAML)"}, "a ZigZag workload", &import_zigzag},
    FormatRow{{"scalesim", "operators: a topology of SCALE-Sim (CSV)"}, "a SCALE-Sim topology", &import_scalesim},
};

constexpr auto kNames = [] {
  std::array<Format, kFormats.size()> out{};
  for (std::size_t i = 0; i < kFormats.size(); ++i) out[i] = kFormats[i].format;
  return out;
}();

// The stem of the file's name; of a name that every file of the tool has, that of its folder.
std::string name_of(const std::string& file) {
  const std::filesystem::path path(file);
  const std::string stem = path.stem().string();
  const std::string folder = path.parent_path().filename().string();
  return stem == "gpgpusim" && !folder.empty() ? folder : stem;
}

// Whether the text has marks of a merge, which several of these formats would take for values. An error names the
// first.
bool has_conflict(std::string_view text, base::SourceId source, base::Diagnostics& diags) {
  std::uint32_t line = 1;
  for (std::size_t begin = 0; begin < text.size(); ++line) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view here = text.substr(begin, end - begin);
    for (const std::string_view mark : {"<<<<<<< ", ">>>>>>> "}) {
      if (!here.starts_with(mark)) continue;
      diags.error({source, line, 1},
                  fmt::format("'{}' marks a conflict of git; keep one of its sides and remove the marks", here));
      return true;
    }
    begin = end + 1;
  }
  return false;
}

}  // namespace

std::span<const Format> formats() { return kNames; }

std::optional<Imported> import_text(std::string_view text, const ImportOptions& options, base::Diagnostics& diags) {
  const auto row = std::find_if(kFormats.begin(), kFormats.end(),
                                [&](const FormatRow& f) { return f.format.name == options.format; });
  if (row == kFormats.end()) {
    std::vector<std::string_view> names;
    for (const Format& f : formats()) names.push_back(f.name);
    diags.error({diags.add_source("FORMAT")}, fmt::format("expected one of {}, got '{}'{}", fmt::join(names, ", "),
                                                          options.format, base::did_you_mean(options.format, names)));
    return std::nullopt;
  }
  Source source{text, std::filesystem::path(options.file).filename().string(), diags.add_source(options.file),
                options.name.empty() ? name_of(options.file) : options.name, options.like};
  source.name = chip_name_of(source.name);
  if (has_conflict(text, source.id, diags)) return std::nullopt;
  const auto kind = recognize(text);
  if (kind && kind->format != row->format.name) {
    std::string advice;
    if (!kind->format.empty()) advice = fmt::format("; its format is {}", kind->format);
    diags.error({source.id, 0, 0}, fmt::format("this is {}, not {}{}", kind->what, row->file, advice));
    return std::nullopt;
  }
  return row->read(source, diags);
}

std::optional<Imported> import_file(const ImportOptions& options, base::Diagnostics& diags) {
  const base::SourceId id = diags.add_source(options.file);
  const auto text = base::read_file(options.file, id, diags);
  return text ? import_text(*text, options, diags) : std::nullopt;
}

}  // namespace tilescope::importers
