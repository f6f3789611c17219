// SPDX-License-Identifier: Apache-2.0
// A memory of Ramulator 2 (its YAML). Source of what a key means: its src/dram/impl, src/addr_mapper and
// src/controller. What presets stand for is in ramulator2_presets.yaml.
//
// Ignores: the front end, plug-ins, and policies of rows that close before another one is asked for.

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/home.h"
#include "import/bits.h"
#include "import/formats.h"

namespace tilescope::importers {
namespace {

constexpr std::string_view kRamulator2Controller = "fixed in its controller";

#define CHANNELS "DRAM.org.channel * DRAM.org.pseudochannel"
#define BANKS "DRAM.org.bankgroup * DRAM.org.bank"
#define ROW "DRAM.org.column / $prefetch * $width / 8 * DRAM.timing.nBL * $rate"

constexpr FigureRow kRamulator2Figures[] = {
    {"memory.dram.capacity", CHANNELS " * DRAM.org.rank * DRAM.org.row * " BANKS " * " ROW, "B"},
    {"memory.dram.clock", "round(1000000000 / DRAM.timing.tCK_ps) / 1000", "MHz"},
    {"memory.dram.clock", "DRAM.timing.rate / $rate", "MHz"},
    {"memory.dram.rate", "$rate", ""},
    {"memory.dram.channels", CHANNELS, ""},
    {"memory.dram.pseudo_channels", "DRAM.org.pseudochannel", ""},
    {"memory.dram.ranks", "DRAM.org.rank", ""},
    {"memory.dram.activate_command", "$dual * 2", "cycles", "an activate takes two cycles of HBM's row bus"},
    {"memory.dram.width", "$width", "bit"},
    {"memory.dram.burst", "DRAM.timing.nBL * $rate", ""},
    {"memory.dram.bank_groups", "DRAM.org.bankgroup", ""},
    {"memory.dram.banks", BANKS, ""},
    {"memory.dram.queue_depth", "32", "", kRamulator2Controller},
    {"memory.dram.write_high_watermark", "26", "", kRamulator2Controller},
    {"memory.dram.write_low_watermark", "6", "", kRamulator2Controller},
    {"memory.dram.row", ROW, "B"},
    {"memory.dram.timing.cl", "DRAM.timing.nCL", "cycles"},
    {"memory.dram.timing.cwl", "DRAM.timing.nCWL", "cycles"},
    {"memory.dram.timing.rcd", "DRAM.timing.nRCD", "cycles"},
    {"memory.dram.timing.rcd", "DRAM.timing.nRCDRD", "cycles"},
    {"memory.dram.timing.rcd_wr", "DRAM.timing.nRCDWR", "cycles"},
    {"memory.dram.timing.rp", "DRAM.timing.nRP", "cycles"},
    {"memory.dram.timing.ras", "DRAM.timing.nRAS", "cycles"},
    {"memory.dram.timing.rc", "max(DRAM.timing.nRC, DRAM.timing.nRAS + DRAM.timing.nRP)", "cycles",
     "a bank opens again only after it was closed"},
    {"memory.dram.timing.ccd_s", "DRAM.timing.nCCDS", "cycles"},
    {"memory.dram.timing.ccd_l", "DRAM.timing.nCCDL", "cycles"},
    {"memory.dram.timing.rrd_s", "DRAM.timing.nRRDS", "cycles"},
    {"memory.dram.timing.rrd_l", "DRAM.timing.nRRDL", "cycles"},
    {"memory.dram.timing.faw", "DRAM.timing.nFAW", "cycles"},
    {"memory.dram.timing.rtp", "DRAM.timing.nRTP", "cycles"},
    {"memory.dram.timing.rtp", "DRAM.timing.nRTPS", "cycles"},
    {"memory.dram.timing.wr", "DRAM.timing.nWR", "cycles"},
    {"memory.dram.timing.wtr_s", "DRAM.timing.nWTRS", "cycles"},
    {"memory.dram.timing.wtr_l", "DRAM.timing.nWTRL", "cycles"},
    {"memory.dram.timing.rtw", "DRAM.timing.nRTW", "cycles"},
    {"memory.dram.timing.rfc", "DRAM.timing.nRFC", "cycles"},
    {"memory.dram.timing.rfc", "ceil(DRAM.org.tRFC * 1000 / DRAM.timing.tCK_ps)", "cycles"},
    {"memory.dram.timing.refi", "DRAM.timing.nREFI", "cycles"},
    {"memory.dram.timing.refi", "ceil(DRAM.org.tREFI * 1000 / DRAM.timing.tCK_ps)", "cycles"},
};

#undef CHANNELS
#undef BANKS
#undef ROW

// What the standards have: transfers a clock, columns of a burst, bits of a channel's bus.
constexpr WordRow kRamulator2Words[] = {
    {"DRAM.impl", "DDR3", "$rate", "2"},
    {"DRAM.impl", "DDR3", "$prefetch", "8"},
    {"DRAM.impl", "DDR3", "$width", "64"},
    {"DRAM.impl", "DDR4", "$rate", "2"},
    {"DRAM.impl", "DDR4", "$prefetch", "8"},
    {"DRAM.impl", "DDR4", "$width", "64"},
    {"DRAM.impl", "DDR5", "$rate", "2"},
    {"DRAM.impl", "DDR5", "$prefetch", "16"},
    {"DRAM.impl", "DDR5", "$width", "32"},
    {"DRAM.impl", "HBM2", "$rate", "2"},
    {"DRAM.impl", "HBM2", "$prefetch", "2"},
    {"DRAM.impl", "HBM2", "$width", "64"},
    {"DRAM.impl", "HBM2", "$dual", "1"},
    {"DRAM.impl", "HBM2", "memory.dram.dual_command_bus", "true"},
    {"DRAM.impl", "GDDR6", "$rate", "8"},
    {"DRAM.impl", "GDDR6", "$prefetch", "16"},
    {"DRAM.impl", "GDDR6", "$width", "16"},
    {"Controller.RefreshManager.impl", "AllBank", "memory.dram.refresh", "all_banks"},
    {"Controller.RowPolicy.impl", "OpenRowPolicy", "memory.dram.page_policy", "open"},
    {"Controller.RowPolicy.impl", "ClosedRowPolicy", "-",
     "closes a row after so many requests; `page_policy` does not"},
};

constexpr DefaultRow kRamulator2Defaults[] = {
    {"DRAM.org.channel", 1}, {"DRAM.org.rank", 1}, {"DRAM.org.pseudochannel", 1}};

constexpr MeaninglessRow kRamulator2Meaningless[] = {
    {"Frontend", "the requests; here a trace has them (tilescope trace)"},
    {"MemorySystem.impl clock_ratio impl", "how its parts are put together"},
    {"DRAM.org.preset DRAM.timing.preset", "stands for keys"},
    {"DRAM.org.dq DRAM.org.density DRAM.org.channel_width",
     "counted by the width of the bus, which the standard gives, and the rows"},
    {"DRAM.timing.nCS DRAM.timing.nRTPL DRAM.timing.nRFCSB DRAM.timing.nREFISB DRAM.timing.nRREFD DRAM.timing.rate",
     "no command waits for it here, or another key says it"},
    {"DRAM.RFM DRAM.drampower_enable DRAM.voltage DRAM.current", "not described: power, and defences of rows"},
    {"Controller.impl Controller.Scheduler.impl", "reads that find their row open go first here"},
    {"Controller.RowPolicy.cap", "requests until it closes a row; here `page_policy` says when a row closes"},
    {"Controller.plugins", "plug-ins count and defend; there are none here"},
};

// The figures of a preset as keys where it stands, unless the file states them itself.
void add_preset(std::vector<Key>& keys, const base::Value& presets, std::string_view group, std::string_view width,
                base::Diagnostics& diags) {
  const std::string prefix = fmt::format("DRAM.{}.", group);
  const Key* preset = find_key(keys, prefix + "preset");
  const base::Value* known = presets.find(group);
  if (preset == nullptr || known == nullptr) return;
  const Key at = *preset;
  const base::Value* of = known->find(at.text);
  if (of == nullptr || !of->is_map()) {
    std::vector<std::string_view> names;
    for (const base::Entry& e : *known->get_if<base::Map>()) names.push_back(e.key);
    diags.error(at.at,
                fmt::format("{}preset: the figures of '{}' are in Ramulator's source and not here; state them as "
                            "keys of {}, or use one of {}{}",
                            prefix, at.text, group, fmt::join(names, ", "), base::did_you_mean(at.text, names)));
    return;
  }
  const auto add = [&](const base::Map& figures) {
    for (const base::Entry& e : figures)
      if (!e.value.is_map() && find_key(keys, prefix + e.key) == nullptr)
        keys.push_back({prefix + e.key, base::to_json(e.value), at.at});
  };
  add(*of->get_if<base::Map>());
  if (const base::Value* wide = of->find(width); wide != nullptr && wide->is_map()) add(*wide->get_if<base::Map>());
}

std::optional<base::Value> read_presets(base::Diagnostics& diags) {
  const std::string path = base::home_path("import/ramulator2_presets.yaml");
  const base::SourceId id = diags.add_source(path);
  const auto text = base::read_file(path, id, diags);
  return text ? base::read_yaml(*text, id, diags) : std::nullopt;
}

// Fields from the lowest bit up, while they are put together.
class Fields {
 public:
  explicit Fields(int low) : low_(low), text_(fmt::format("off[0+{}]", low)) {}
  int next() const { return low_; }
  void add(std::string_view part, int width) {
    if (width == 0) return;
    text_ += fmt::format(" {}[{}+{}]", part, low_, width);
    low_ += width;
  }
  void fold(std::string_view part, int onto, int bit) {
    text_ += onto == 0 ? fmt::format(" {}^[{}+1]", part, bit) : fmt::format(" {}^{}[{}+1]", part, onto, bit);
  }
  const std::string& text() const { return text_; }

 private:
  int low_;
  std::string text_;
};

void add_mapping(Ledger& ledger, std::vector<Figure>& figures, base::Diagnostics& diags) {
  const Key* mapper = find_key(ledger.keys(), "AddrMapper.impl");
  if (mapper == nullptr) return;
  const auto whole = [&](std::string_view name) {
    return whole_of(figures, "memory.dram." + std::string(name)).value_or(1);
  };
  const std::int64_t burst = whole("width") / 8 * whole("burst"), row = whole("row"), groups = whole("bank_groups");
  const std::int64_t places = whole("ranks") * whole("banks") * whole("channels");
  if (burst < 1 || row < burst || places < 1 || groups < 1) return;
  const int column = bits_of(row / burst), rows = bits_of(whole("capacity") / row / places);
  const int pseudo = bits_of(whole("pseudo_channels")), group = bits_of(groups),
            bank = bits_of(whole("banks") / groups);
  Fields fields(bits_of(burst));
  fields.add("ch", bits_of(whole("channels") / whole("pseudo_channels")));
  const int first = fields.next();
  if (mapper->text == "RoBaRaCoCh") {
    fields.add("co", column);
    fields.add("pc", pseudo);
    fields.add("ra", bits_of(whole("ranks")));
    fields.add("bg", group);
    fields.add("ba", bank);
    fields.add("ro", rows);
  } else if (mapper->text == "MOP4CLXOR" && column > 2) {
    fields.add("co", 2);
    fields.add("pc", pseudo);
    fields.add("ra", bits_of(whole("ranks")));
    fields.add("bg", group);
    fields.add("ba", bank);
    const int rest = fields.next();
    fields.add("co", column - 2);
    fields.add("ro", rows);
    int bit = 0;  // of the column
    for (const auto& [part, width] : {std::pair{"pc", pseudo}, std::pair{"bg", group}, std::pair{"ba", bank}})
      for (int i = 0; i < width && bit < column; ++i, ++bit)
        fields.fold(part, i, bit < 2 ? first + bit : rest + bit - 2);
  } else {
    diags.note(mapper->at,
               fmt::format("AddrMapper.impl: '{}' is not known, only RoBaRaCoCh and MOP4CLXOR are", mapper->text));
    return;
  }
  ledger.take("AddrMapper.impl", "memory.dram.mapping: " + fields.text());
  figures.push_back({"memory.dram.mapping", fields.text(), "AddrMapper.impl", mapper->at});
}

}  // namespace

std::optional<Imported> import_ramulator2(const Source& source, base::Diagnostics& diags) {
  const auto document = base::read_yaml(source.text, source.id, diags);
  if (!document) return std::nullopt;
  std::vector<Key> keys = keys_of(*document);
  constexpr std::string_view kPrefix = "MemorySystem.";
  for (Key& key : keys)
    if (key.name.starts_with(kPrefix) && key.name != "MemorySystem.impl") key.name.erase(0, kPrefix.size());
  const auto presets = read_presets(diags);
  if (!presets) return std::nullopt;
  add_preset(keys, *presets, "org", {}, diags);
  const Key* dq = find_key(keys, "DRAM.org.dq");
  add_preset(keys, *presets, "timing", dq == nullptr ? std::string() : "x" + dq->text, diags);
  if (!diags.ok()) return std::nullopt;
  const Table table{{}, kRamulator2Figures, kRamulator2Words, kRamulator2Meaningless, kRamulator2Defaults};
  return memory_of(source, std::move(keys), table, add_mapping, diags);
}

}  // namespace tilescope::importers
