// SPDX-License-Identifier: Apache-2.0
#include "import/recognize.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <string>

#include "import/table.h"
#include "import/text_readers.h"

namespace tilescope::importers {
namespace {

// A kind of file, and keys that it has, all of them; title_X is a title of a table.
struct KindRow {
  std::string_view what, format, keys;
};

// A kind stands before those whose keys it has too.
constexpr KindRow kKinds[] = {
    {"a ZigZag workload", "zigzag", "equation loop_dims"},
    {"a ZigZag workload", "zigzag", "loop_dims loop_sizes"},
    {"a ZigZag workload", "zigzag", "equation operand_source"},
    {"a ZigZag mapping", "", "spatial_mapping memory_operand_links"},
    {"a ZigZag mapping", "", "core_allocation spatial_mapping"},
    {"a ZigZag mapping", "", "core_allocation memory_operand_links"},
    {"a ZigZag mapping", "", "spatial_mapping_hint"},
    {"a ZigZag accelerator", "", "operational_array memories"},
    {"a Timeloop problem", "timeloop", "problem"},
    {"a Timeloop problem", "timeloop", "shape data_spaces"},
    {"a Timeloop problem", "timeloop", "shape data-spaces"},
    {"a Timeloop architecture", "", "architecture nodes"},
    {"a Timeloop architecture", "", "architecture subtree"},
    {"a Timeloop mapping", "", "mapping target factors"},
    {"a Timeloop mapper", "", "mapper"},
    {"a Ramulator 2 configuration", "ramulator2", "MemorySystem"},
    {"an LLMCompass device", "llmcompass", "device compute_chiplet"},
    {"a DRAMsim3 configuration", "dramsim3", "dram_structure timing"},
    {"a DRAMsim3 configuration", "dramsim3", "bankgroups tCK"},
    {"a SCALE-Sim architecture", "", "architecture_presets"},
    {"a SCALE-Sim architecture", "", "ArrayHeight ArrayWidth"},
    {"a SCALE-Sim layout", "", "title_ifmapheightintralinefactor"},
    {"a SCALE-Sim report", "", "title_layerid"},
    {"a SCALE-Sim topology", "scalesim", "title_ifmapheight title_filterheight"},
    {"a SCALE-Sim topology", "scalesim", "title_m title_n title_k"},
    {"a GPGPU-Sim configuration", "gpgpusim", "gpgpu_n_clusters"},
    {"a GPGPU-Sim configuration", "gpgpusim", "gpgpu_clock_domains"},
    {"a GPGPU-Sim configuration", "gpgpusim", "gpgpu_n_mem"},
    {"a trace.config of Accel-Sim, which goes behind its gpgpusim.config", "", "trace_opcode_latency_initiation_int"},
    {"a network of BookSim", "", "topology routing_function num_vcs"},
    {"a Ramulator 1 configuration", "", "standard org speed"},
    {"a chip of Tilescope", "", "class memory core"},
    {"a chip of Tilescope", "", "extends name"},
    {"a memory of Tilescope", "", "class memory"},
    {"a suite of Tilescope", "", "operators op"},
    {"a network of Tilescope", "", "nodes"},
};

bool is_of_key(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-'; }

// The titles of a table: of a first line with commas.
void add_titles(std::string_view line, std::set<std::string>& keys) {
  if (line.find(',') == std::string_view::npos || line.find_first_of(":=[{") != std::string_view::npos) return;
  for (std::size_t begin = 0; begin <= line.size();) {
    const std::size_t end = std::min(line.find(',', begin), line.size());
    keys.insert("title_" + folded(line.substr(begin, end - begin)));
    begin = end + 1;
  }
}

// What stands before a ':' or '=', in brackets alone on a line, or behind a '-' at its beginning, comments left out.
std::set<std::string> keys_in(std::string_view text) {
  std::set<std::string> out;
  bool first = true;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view line = text.substr(begin, end - begin);
    begin = end + 1;
    line = line.substr(0, line.find_first_of("#;"));
    const std::size_t word = line.find_first_not_of(" \t\r");
    if (word == std::string_view::npos) continue;
    if (first) add_titles(line, out);
    first = false;
    if (line[word] == '[') out.emplace(line.substr(word + 1, line.find(']', word) - word - 1));
    if (line[word] == '-') {
      std::size_t stop = word + 1;
      while (stop < line.size() && is_of_key(line[stop])) ++stop;
      out.emplace(line.substr(word + 1, stop - word - 1));
    }
    for (std::size_t i = word; i < line.size(); ++i) {
      if (line[i] != ':' && line[i] != '=') continue;
      std::size_t stop = i;
      while (stop > word && (line[stop - 1] == ' ' || line[stop - 1] == '"')) --stop;
      std::size_t start = stop;
      while (start > word && is_of_key(line[start - 1])) --start;
      out.emplace(line.substr(start, stop - start));
    }
  }
  return out;
}

}  // namespace

std::optional<Recognized> recognize(std::string_view text) {
  const std::set<std::string> keys = keys_in(text);
  for (const KindRow& row : kKinds) {
    const auto words = words_of(row.keys);
    if (std::all_of(words.begin(), words.end(), [&](std::string_view w) { return keys.contains(std::string(w)); }))
      return Recognized{row.what, row.format};
  }
  return std::nullopt;
}

}  // namespace tilescope::importers
