// SPDX-License-Identifier: Apache-2.0
#include "import/dramsim3_export.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include <fmt/format.h>

#include "arch/dram_mapping.h"
#include "arch/hierarchy.h"

namespace tilescope::importers {
namespace {

using arch::DramLevel;

// Protocols by the transfers of a clock, which is what their bursts differ in.
struct ProtocolRow {
  std::int64_t rate;
  bool dual_bus;
  std::string_view name;
};
constexpr ProtocolRow kProtocols[] = {
    {2, true, "HBM2"}, {2, false, "DDR4"}, {4, false, "GDDR5"}, {8, false, "GDDR5X"}, {16, false, "GDDR6"}};

// A timing of ours and DRAMsim3's name for it, two where it has one for each of two kinds.
struct TimingRow {
  std::string_view key, name, also;
};
constexpr TimingRow kTimings[] = {
    {"cl", "CL", ""},        {"cwl", "CWL", ""},      {"rcd", "tRCD", "tRCDRD"}, {"rp", "tRP", ""},
    {"ras", "tRAS", ""},     {"ccd_s", "tCCD_S", ""}, {"ccd_l", "tCCD_L", ""},   {"rrd_s", "tRRD_S", ""},
    {"rrd_l", "tRRD_L", ""}, {"faw", "tFAW", ""},     {"aw32", "t32AW", ""},     {"rtp", "tRTP", ""},
    {"wr", "tWR", ""},       {"wtr_s", "tWTR_S", ""}, {"wtr_l", "tWTR_L", ""},   {"rtrs", "tRTRS", ""},
    {"rfc", "tRFC", ""},     {"refi", "tREFI", ""},   {"rfc_sb", "tRFCb", ""},   {"rcd_wr", "tRCDWR", ""},
};

class Writer {
 public:
  Writer(const arch::ArchSpec& a, const DramLevel& dram, base::Position at, base::Diagnostics& diags)
      : a_(a), dram_(dram), at_(at), diags_(diags) {}

  std::optional<std::string> text() {
    const ProtocolRow* protocol = find_protocol();
    if (protocol == nullptr)
      return refuse(fmt::format("{}: no protocol of DRAMsim3 has {} transfers a clock; 2, 4, 8 and 16 are known",
                                dram_.name, dram_.rate));
    if (!dram_.row || dram_.banks == 0)
      return refuse(fmt::format("{}: rows and banks are not stated; DRAMsim3 needs both", dram_.name));
    const std::int64_t channels = dram_.channels, ranks = dram_.ranks;
    const std::int64_t per_rank = dram_.capacity.n / channels / ranks, rows = per_rank / dram_.banks / dram_.row->n;
    if (rows < 1 || rows * dram_.banks * dram_.row->n * ranks * channels != dram_.capacity.n)
      return refuse(fmt::format("{}: {} B are no whole number of rows in every bank of {} channels", dram_.name,
                                dram_.capacity.n, channels));
    const std::int64_t megabytes = per_rank * ranks >> 20, bits = dram_.width.n * 8;
    if (megabytes << 20 != per_rank * ranks)
      return refuse(fmt::format("{}: a channel of {} B is no whole number of MB", dram_.name, per_rank * ranks));
    for (const std::int64_t n : {channels, ranks, rows, dram_.banks, dram_.row->n, dram_.width.n})
      if (!std::has_single_bit(static_cast<std::uint64_t>(n)))
        return refuse(fmt::format("{}: {} is no power of two, as each count of DRAMsim3 is", dram_.name, n));
    const auto mapping = order_of_address();
    if (!mapping) return std::nullopt;
    const std::int64_t groups = dram_.bank_groups.value_or(1);
    std::string out = fmt::format("; {} of {}, written by tilescope\n[dram_structure]\n", dram_.name, a_.name);
    out += fmt::format("protocol = {}\nbankgroups = {}\nbanks_per_group = {}\nrows = {}\ncolumns = {}\n",
                       protocol->name, groups, dram_.banks / groups, rows, dram_.row->n / dram_.width.n);
    out += fmt::format("device_width = {}\nBL = {}\n", bits, dram_.burst);
    if (!dram_.bank_groups) out += "bankgroup_enable = false\n";
    out += fmt::format("\n[timing]\ntCK = {:.10g}\nAL = 0\n", 1e9 / static_cast<double>(dram_.clock.n));
    for (const TimingRow& t : kTimings) add(out, t);
    if (!dram_.timing.contains("rcd_wr"))
      if (const auto rcd = dram_.timing.find("rcd"); rcd != dram_.timing.end())
        out += fmt::format("tRCDWR = {}\n", rcd->second.n);
    out += fmt::format("\n[system]\nchannel_size = {}\nchannels = {}\nbus_width = {}\naddress_mapping = {}\n",
                       megabytes, channels, bits, *mapping);
    out += fmt::format("queue_structure = PER_BANK\nrow_buf_policy = {}\n",
                       dram_.page_policy == arch::PagePolicy::kClosed ? "CLOSE_PAGE" : "OPEN_PAGE");
    out += fmt::format("refresh_policy = {}\n",
                       dram_.refresh == arch::Refresh::kPerBank ? "BANK_LEVEL_STAGGERED" : "RANK_LEVEL_STAGGERED");
    if (dram_.queue_depth) out += fmt::format("trans_queue_size = {}\n", *dram_.queue_depth);
    if (dram_.per_bank_queue_depth) out += fmt::format("cmd_queue_size = {}\n", *dram_.per_bank_queue_depth);
    if (dram_.queues == arch::RequestQueues::kShared) out += "unified_queue = true\n";
    note_what_is_left();
    return out;
  }

 private:
  std::nullopt_t refuse(std::string text) {
    diags_.error(at_, std::move(text));
    return std::nullopt;
  }
  void note(std::string text) { diags_.note(at_, dram_.name + ": " + std::move(text)); }

  const ProtocolRow* find_protocol() const {
    for (const ProtocolRow& p : kProtocols)
      if (p.rate == dram_.rate && (p.dual_bus == dram_.dual_command_bus || p.rate != 2)) return &p;
    return nullptr;
  }

  void add(std::string& out, const TimingRow& t) const {
    const auto found = dram_.timing.find(std::string(t.key));
    if (found == dram_.timing.end()) return;
    out += fmt::format("{} = {}\n", t.name, found->second.n);
    if (!t.also.empty()) out += fmt::format("{} = {}\n", t.also, found->second.n);
  }

  // From the highest field to the lowest; parts that have no bits stand at the top.
  std::optional<std::string> order_of_address() {
    if (!dram_.mapping) return dram_.address_mapping == arch::AddressMapping{} ? "rorabgbacoch" : "rorababgcoch";
    const auto mapping = arch::mapping_of(dram_, diags_);
    if (!mapping) return std::nullopt;
    constexpr std::array<std::string_view, arch::kDramParts> kNames = {"", "co", "ch", "", "ra", "bg", "ba", "ro"};
    std::string order;
    bool folded = false;
    for (const arch::MappingField& f : mapping->fields) {
      folded |= f.folded;
      if (f.folded || f.part == arch::DramPart::kOffset) continue;
      const std::string_view name = kNames[static_cast<std::size_t>(f.part)];
      if (name.empty() || order.find(name) != std::string::npos)
        return refuse(
            fmt::format("{}: mapping: DRAMsim3 has one field each of channel, rank, group, bank, row and "
                        "column, and no pseudo-channels",
                        dram_.name));
      order = std::string(name) + order;
    }
    if (folded) note("mapping: bits that are folded in by exclusive or are left out");
    for (const std::string_view name : {"co", "ba", "bg", "ra", "ch", "ro"})
      if (order.find(name) == std::string::npos) order = std::string(name) + order;
    return order;
  }

  void note_what_is_left() {
    if (dram_.pseudo_channels > 1) note("pseudo_channels: each is a channel with a controller of its own there");
    if (dram_.write_high_watermark) note("write_high_watermark: its controller drains writes as its queue is full");
    if (dram_.timing.contains("rtw")) note("timing.rtw: it computes the turn from reads to writes itself");
    if (dram_.page_policy != arch::PagePolicy::kOpen && dram_.page_policy != arch::PagePolicy::kClosed)
      note("page_policy: open there");
    if (dram_.queues == arch::RequestQueues::kPerBank) note("queues: it has them for each bank behind one for all");
    if (dram_.model) note("model: the library that simulates the level here is left out");
  }

  const arch::ArchSpec& a_;
  const DramLevel& dram_;
  base::Position at_;
  base::Diagnostics& diags_;
};

}  // namespace

std::optional<std::string> to_dramsim3(const arch::ArchSpec& a, base::Position at, base::Diagnostics& diags) {
  const DramLevel* dram = arch::dram_of(a);
  if (dram == nullptr) {
    diags.error(at, fmt::format("{} has no DRAM", a.name));
    return std::nullopt;
  }
  return Writer(a, *dram, at, diags).text();
}

}  // namespace tilescope::importers
