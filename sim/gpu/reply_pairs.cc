// SPDX-License-Identifier: Apache-2.0
#include "sim/gpu/detail/reply_pairs.h"

#include <algorithm>

namespace tilescope::sim {

ReplyPairs::ReplyPairs(std::int64_t cores, std::size_t copies, const MemorySpec& memory)
    : idle_read_(memory.dram_latency),
      idle_write_(memory.cache_latency),
      tickets_(static_cast<std::size_t>(cores)),
      copies_(copies) {}

ReplyPairs::Ticket& ReplyPairs::ticket(int core, int number) {
  std::vector<Ticket>& own = tickets_[static_cast<std::size_t>(core)];
  if (static_cast<std::size_t>(number) >= own.size()) own.resize(static_cast<std::size_t>(number) + 1);
  return own[static_cast<std::size_t>(number)];
}

void ReplyPairs::carry(const MemoryRequest& by, int core, int number, Cycle at, int copy) {
  ticket(core, number) = {copy, at, by.at, kNone};
  copies_[static_cast<std::size_t>(copy)].last = number;
}

void ReplyPairs::pair(std::vector<MemoryRequest>& asked, const std::vector<int>& copies, Cycle end,
                      std::vector<MemoryReply>& replies) {
  for (std::size_t i = 0; i < asked.size(); ++i) {
    MemoryRequest& r = asked[i];
    Copy& c = copies_[static_cast<std::size_t>(copies[i])];
    const auto take = [](std::vector<std::size_t>& from) {
      const std::size_t first = from.front();
      from.erase(from.begin());
      return first;
    };
    if (r.line == kNotServed) {
      if (c.spare.empty()) {
        c.waiting.push_back(i);
        continue;
      }
      MemoryRequest& by = asked[take(c.spare)];
      by.ticket = r.ticket;
      carry(by, r.core, r.ticket, r.at, copies[i]);
    } else if (r.ticket != kNobody) {
      carry(r, r.core, r.ticket, r.at, copies[i]);
    } else if (!c.waiting.empty()) {
      const MemoryRequest& waits = asked[take(c.waiting)];
      r.ticket = waits.ticket;
      carry(r, waits.core, waits.ticket, waits.at, copies[i]);
    } else {
      c.spare.push_back(i);
    }
  }
  for (std::size_t i = 0; i < asked.size(); ++i) {
    Copy& c = copies_[static_cast<std::size_t>(copies[i])];
    for (const std::size_t w : c.waiting) {
      const MemoryRequest& r = asked[w];
      if (c.last != kNone) {
        Ticket& last = ticket(r.core, c.last);
        const Ticket own{copies[i], r.at, last.carried_at, last.next};
        last.next = r.ticket;
        ticket(r.core, r.ticket) = own;
        continue;
      }
      const Cycle lasted = c.known ? c.lasted : r.write ? idle_write_ : idle_read_;
      replies.push_back({r.core, r.ticket, std::max(end, r.at + lasted), c.from});
    }
    c.waiting.clear();
    c.spare.clear();
  }
  for (const int copy : copies) copies_[static_cast<std::size_t>(copy)].last = kNone;
  std::erase_if(asked, [](const MemoryRequest& r) { return r.line == kNotServed; });
}

void ReplyPairs::unpack(Cycle end, std::vector<MemoryReply>& replies) {
  unpacked_.clear();
  for (const MemoryReply& r : replies) {
    if (r.ticket == kNobody) continue;
    for (int number = r.ticket; number != kNone;) {
      const Ticket& t = ticket(r.core, number);
      const Cycle lasted = r.at - t.carried_at;
      unpacked_.push_back({r.core, number, std::max(end, t.at + lasted), r.from});
      copies_[static_cast<std::size_t>(t.copy)].lasted = lasted;
      copies_[static_cast<std::size_t>(t.copy)].from = r.from;
      copies_[static_cast<std::size_t>(t.copy)].known = true;
      number = t.next;
    }
  }
  replies.swap(unpacked_);
}

}  // namespace tilescope::sim
