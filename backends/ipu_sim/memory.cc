// SPDX-License-Identifier: Apache-2.0
#include "backends/ipu_sim/detail/memory.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/integer.h"

namespace tilescope::ipu_sim {

// The bytes are not cleared: those that nothing writes take no memory of this machine, and are never read.
Memory::Page::Page(std::int64_t count)
    : bytes(std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(count))),
      written(count),
      sent(count),
      received(count) {}

Memory::Memory(std::int64_t capacity, std::int64_t page)
    : capacity_(capacity),
      page_bytes_(std::max<std::int64_t>(page, 1)),
      pages_(static_cast<std::size_t>(base::ceil_div(capacity, page_bytes_))) {}

Memory::Page& Memory::page(std::int64_t number) {
  std::unique_ptr<Page>& p = pages_[static_cast<std::size_t>(number)];
  if (!p) p = std::make_unique<Page>(std::min(page_bytes_, capacity_ - number * page_bytes_));
  return *p;
}

template <class Visit>
void Memory::for_each_page(std::int64_t address, std::int64_t bytes, const Visit& visit) const {
  while (bytes > 0) {
    const std::int64_t number = address / page_bytes_, in_page = address % page_bytes_;
    const std::int64_t count = std::min(bytes, page_bytes_ - in_page);
    visit(number, in_page, count);
    address += count;
    bytes -= count;
  }
}

std::optional<std::int64_t> Memory::first_unwritten(std::int64_t address, std::int64_t bytes) const {
  std::optional<std::int64_t> found;
  for_each_page(address, bytes, [&](std::int64_t number, std::int64_t at, std::int64_t count) {
    if (found) return;
    const Page* p = find(number);
    found = p == nullptr ? std::optional(at) : p->written.first_clear(at, count);
    if (found) *found += number * page_bytes_;
  });
  return found;
}

void Memory::write(std::int64_t address, const std::byte* from, std::int64_t bytes) {
  for_each_page(address, bytes, [&](std::int64_t number, std::int64_t at, std::int64_t count) {
    Page& p = page(number);
    std::memcpy(p.bytes.get() + at, from, static_cast<std::size_t>(count));
    p.written.set(at, count);
    from += count;
  });
  end_ = std::max(end_, address + bytes);
}

void Memory::read(std::int64_t address, std::byte* to, std::int64_t bytes) const {
  for_each_page(address, bytes, [&](std::int64_t number, std::int64_t at, std::int64_t count) {
    const Page* p = find(number);
    base::check(p != nullptr, "what is read was written");
    std::memcpy(to, p->bytes.get() + at, static_cast<std::size_t>(count));
    to += count;
  });
}

const std::byte* Memory::view(std::int64_t address, std::int64_t bytes) {
  const std::int64_t number = address / page_bytes_;
  base::check(bytes <= page_bytes_ - address % page_bytes_, "what is seen as a whole lies in one page");
  return page(number).bytes.get() + address % page_bytes_;
}

void Memory::send(std::int64_t address, std::int64_t bytes, std::int64_t exchange) {
  for_each_page(address, bytes, [&](std::int64_t number, std::int64_t at, std::int64_t count) {
    page(number).sent.set(at, count, exchange);
  });
}

std::optional<std::int64_t> Memory::first_sent(std::int64_t address, std::int64_t bytes, std::int64_t exchange) const {
  std::optional<std::int64_t> found;
  for_each_page(address, bytes, [&](std::int64_t number, std::int64_t at, std::int64_t count) {
    if (const Page* p = find(number); p != nullptr && !found) {
      found = p->sent.first_set(at, count, exchange);
      if (found) *found += number * page_bytes_;
    }
  });
  return found;
}

std::optional<std::int64_t> Memory::receive(std::int64_t address, std::int64_t bytes, std::int64_t exchange) {
  std::optional<std::int64_t> found;
  for_each_page(address, bytes, [&](std::int64_t number, std::int64_t at, std::int64_t count) {
    PhaseMarks& received = page(number).received;
    if (!found) {
      found = received.first_set(at, count, exchange);
      if (found) *found += number * page_bytes_;
    }
    received.set(at, count, exchange);
  });
  return found;
}

void Memory::copy(std::int64_t address, const Memory& from, std::int64_t source, std::int64_t bytes) {
  from.for_each_page(source, bytes, [&](std::int64_t number, std::int64_t at, std::int64_t count) {
    const Page* p = from.find(number);
    base::check(p != nullptr, "what is copied was written");
    write(address, p->bytes.get() + at, count);
    address += count;
  });
}

}  // namespace tilescope::ipu_sim
