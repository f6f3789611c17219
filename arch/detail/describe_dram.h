// SPDX-License-Identifier: Apache-2.0
#pragma once
// The keys of a level of kind dram (arch/detail/describe.h).

#include <array>
#include <string_view>

#include "arch/key.h"
#include "arch/spec.h"

namespace tilescope::arch {

// One key of a DRAM's timing, in cycles of its clock or as a time, of which it is the cycles that cover it.
struct TimingSlot {
  DramTiming& timing;
  Hertz clock;
  std::string_view name;
};

struct TimingFields {
  DramTiming& timing;
  Hertz clock;
};

inline constexpr std::array<Key, 22> kTimings = {{
    optional("cl", "Column read command to the first data."),
    optional("cwl", "Column write command to the first data."),
    optional("rcd", "Activate to column command; to a read where rcd_wr is given."),
    optional("rcd_wr", "Activate to column write."),
    optional("rp", "Precharge to activate."),
    optional("ras", "Activate to precharge."),
    optional("rc", "Activate to activate of the same bank."),
    optional("ccd_s", "Column command to column command of another bank group."),
    optional("ccd_l", "Column command to column command of the same bank group."),
    optional("rrd_s", "Activate to activate of another bank group."),
    optional("rrd_l", "Activate to activate of the same bank group."),
    optional("faw", "Window that holds at most four activates."),
    optional("aw32", "Window that holds at most thirty-two activates."),
    optional("wr", "End of write data to precharge."),
    optional("wtr_s", "End of write data to a read of another bank group."),
    optional("wtr_l", "End of write data to a read of the same bank group."),
    optional("rtp", "Read to precharge."),
    optional("rtw", "Read to write."),
    optional("rtrs", "Bubble between the data of two senders: two ranks, or a rank and the controller."),
    optional("rfc", "Length of a refresh of all banks."),
    optional("rfc_sb", "Length of a refresh of one bank."),
    optional("refi", "Refresh to refresh."),
}};

template <class V>
void describe(V& v, TimingFields s) {
  for (const Key& key : kTimings) v.field(key, TimingSlot{s.timing, s.clock, key.name});
}

template <class V>
void describe(V& v, TlbSpec& s) {
  v.field(required("page", "Bytes that one translation covers."), s.page);
  v.field(required("entries", "Translations at hand."), s.entries);
  v.field(required("miss", "What an access waits longer whose translation is not at hand, in core cycles."), s.miss);
  v.field(optional("walkers",
                   "Translations that are fetched at a time, each for `miss`; further ones wait, and so does every "
                   "access that needs one under way. Where absent: any number, and the first access alone waits."),
          s.walkers);
  v.field(
      optional("writes",
               "Whether what is written and not in the device's cache needs a translation too; false where absent."),
      s.writes);
}

template <class V>
void describe_own(V& v, DramLevel& s) {
  v.field(required("clock", "Clock of the command bus; `timing` counts its cycles."), s.clock);
  v.field(required("rate", "Transfers a clock."), s.rate);
  v.field(required("channels", "Channels, pseudo-channels each, with a data bus of their own."), s.channels);
  v.field(
      optional("pseudo_channels",
               "Of the channels, how many share one controller and its command buses, as those of HBM2 do in pairs; "
               "1 where absent."),
      s.pseudo_channels);
  v.field(optional("ranks", "Ranks that share one channel's bus; 1 where absent."), s.ranks);
  v.field(optional("dual_command_bus",
                   "Whether rows and columns have a command bus each, as HBM's do; false where absent."),
          s.dual_command_bus);
  v.field(optional("activate_command", "Cycles that an activate holds its command bus; 1 where absent."),
          s.activate_command);
  v.field(optional("address_mapping",
                   "Fields of an address from the highest to the lowest, as DRAM simulators write them: rows that "
                   "follow each other lie in neighbouring banks of a group (RoRaBgBaCoCh, where absent), or in "
                   "different groups (RoBaRaBgCoCh). Where there is a `mapping`, that says so."),
          s.address_mapping);
  v.field(optional("queues",
                   "How a controller queues requests: reads apart from writes, which drain together (read_write, where "
                   "absent); both in one queue and in one order (shared); or likewise, in a queue of each bank "
                   "(per_bank)."),
          s.queues);
  v.field(optional("queue_depth",
                   "Requests that a controller holds, of all its pseudo-channels: so many reads and as many writes; so "
                   "many of both where `queues` is shared, of each bank where it is per_bank. Where absent, as many as "
                   "keep the bus busy for the DRAM's latency; no bound for a memory without a chip."),
          s.queue_depth);
  v.field(optional("per_bank_queue_depth",
                   "Requests that the controller queues at each bank beyond those it holds; none where absent."),
          s.per_bank_queue_depth);
  v.field(optional("write_threshold",
                   "Writes beyond which those that wait are drained while the banks rest; any where absent."),
          s.write_threshold);
  v.field(optional("write_idle",
                   "Cycles of the level's clock without a command after which fewer writes drain too; at once where "
                   "absent."),
          s.write_idle);
  v.field(optional("write_high_watermark",
                   "Writes that wait at a controller as it stops serving reads and serves writes alone; where absent, "
                   "it drains those that wait as the queue is full, and reads at its banks go on."),
          s.write_high_watermark);
  v.field(optional("write_low_watermark",
                   "Writes left as a controller that serves writes turns back to reads that wait; 0 where absent."),
          s.write_low_watermark);
  v.field(optional("row_hit_cap",
                   "Columns that an open row serves before an older request may close it; no bound where absent."),
          s.row_hit_cap);
  v.field(optional("page_policy",
                   "When a row closes that no other request conflicts with: never (open, where absent); with every "
                   "request (closed), or unless another one at its bank needs the row (closed_adaptive), by an "
                   "auto-precharge, which takes no command; or `page_timeout` after its last column (timeout)."),
          s.page_policy);
  v.field(optional("page_timeout",
                   "Cycles of the level's clock after the last column of an open row when it closes, while no request "
                   "is at its bank."),
          s.page_timeout);
  v.field(optional("max_age",
                   "Cycles of the level's clock after which the oldest request of a bank is overtaken by no other; no "
                   "bound where absent."),
          s.max_age);
  v.field(optional("write_backlog",
                   "Writes that wait at one channel before a cache that evicts more of them waits too; no bound where "
                   "absent."),
          s.write_backlog);
  v.field(required("width", "Data bus of one channel."), s.width);
  v.field(required("burst", "Transfers of one burst."), s.burst);
  v.field(optional("bank_groups", "Bank groups of one rank."), s.bank_groups);
  v.field(optional("banks", "Banks of one rank, in all its groups."), s.banks);
  v.field(optional("row", "Bytes of one row of one channel."), s.row);
  v.field(
      optional(
          "mapping",
          "Address bits to their parts, from the lowest: off[0+5] co[5+5] bg[10+2] ba[12+2] ro[14+15]; ch, pc and ra "
          "likewise. ba^1[14+1] permutes: bit 14 is added to the bank's bit 1 by exclusive or."),
      s.mapping);
  v.field(optional("model",
                   "Of a gpu: a shared library that simulates the level in place of these channels, relative to this "
                   "file (include/tilescope/dram_plugin.h); the figures stay what the model of times reads."),
          s.model);
  v.part(optional(
             "timing",
             "Timing in cycles of the level's clock, or as times that are rounded up to cycles, by JEDEC name without "
             "the leading t."),
         TimingFields{s.timing, s.clock});
  v.field(optional("refresh",
                   "What one refresh takes: all banks of a rank, once in refi (all_banks, where absent), or banks one "
                   "after the other, each once in refi (per_bank)."),
          s.refresh);
  v.field(
      optional("write_granule",
               "Bytes of a burst that are written whole, else read, merged and written: what one error-correcting "
               "code covers, or 1 B where devices take a mask of bytes. Writes of parts cost nothing where absent."),
      s.write_granule);
  v.part(optional("tlb", "Translations of addresses; every address is translated for nothing where absent."), s.tlb);
  v.field(optional("ports",
                   "Of a bsp chip, which must say: beside which routers of its mesh the channels are, dealt out in "
                   "turn: r0c0 r3c0, row and column."),
          s.ports);
  v.field(optional("interleave",
                   "Of a bsp chip, which must say: bytes of a tensor that lie side by side in one channel, before the "
                   "next one's."),
          s.interleave);
}

}  // namespace tilescope::arch
