// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/device/array_contents.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <thread>
#include <utility>

#include "backends/cuda/device/elements.h"
#include "backends/cuda/device/json.h"

namespace tilescope::cuda::device {
namespace {

constexpr std::size_t kPiece = std::size_t{64} << 20;  // bytes that are made or read at once

using Bytes = std::unique_ptr<unsigned char[]>;

Bytes new_bytes(std::size_t n) { return Bytes(new unsigned char[n]); }

using Kinds = std::array<std::array<unsigned char, sizeof(double)>, kInputKinds>;  // the widest elements are f64

// The bytes of each kind of element.
Kinds kinds_of(base::Dtype dtype) {
  Kinds out{};
  for (int k = 0; k < kInputKinds; ++k)
    write_element(dtype, input_of(dtype, k - kInputKinds / 2), out[static_cast<std::size_t>(k)].data());
  return out;
}

// Runs work(begin, end) over 0 .. n on all cores.
template <class Work>
void on_all_cores(std::int64_t n, const Work& work) {
  const std::int64_t cores = std::max(1U, std::thread::hardware_concurrency());
  std::vector<std::thread> others;
  for (std::int64_t c = 1; c < cores; ++c) others.emplace_back([&, c] { work(n * c / cores, n * (c + 1) / cores); });
  work(0, n / cores);
  for (std::thread& t : others) t.join();
}

// Elements begin .. end of an input.
void make_inputs(const Array& a, std::int64_t begin, std::int64_t end, unsigned char* to) {
  const auto size = static_cast<std::size_t>(base::size_of(a.dtype).n);
  const Kinds kinds = kinds_of(a.dtype);
  on_all_cores(end - begin, [&](std::int64_t from, std::int64_t until) {
    for (std::int64_t i = from; i < until; ++i)
      std::memcpy(to + static_cast<std::size_t>(i) * size,
                  kinds[static_cast<std::size_t>(whole_input(a.seed, begin + i) + kInputKinds / 2)].data(), size);
  });
}

void make_chain(const Array& a, std::int64_t begin, std::int64_t end, unsigned char* to) {
  const std::int64_t links = a.elements / a.stride;
  on_all_cores(end - begin, [&](std::int64_t from, std::int64_t until) {
    for (std::int64_t i = begin + from; i < begin + until; ++i) {
      const std::int64_t link = i / a.stride;
      const auto next =
          static_cast<std::int32_t>(i % a.stride == 0 && link < links ? (link + a.step) % links * a.stride : 0);
      std::memcpy(to + (i - begin) * 4, &next, 4);
    }
  });
}

}  // namespace

const DeviceModule* ArrayContents::helpers() {
  if (!helpers_ && !path_.empty()) helpers_ = std::make_unique<DeviceModule>(driver_, path_);
  return helpers_.get();
}

void ArrayContents::fill(const Array& array, const DeviceMemory& memory) {
  if (!array.is_filled()) return;
  if (array.role == ArrayRole::kInput && helpers() != nullptr) return fill_on_device(array, memory);
  const std::int64_t size = base::size_of(array.dtype).n, piece = static_cast<std::int64_t>(kPiece) / size;
  const Bytes bytes = new_bytes(std::min(memory.bytes(), kPiece));
  for (std::int64_t begin = 0; begin < array.elements; begin += piece) {
    const std::int64_t end = std::min(begin + piece, array.elements);
    (array.role == ArrayRole::kInput ? make_inputs : make_chain)(array, begin, end, bytes.get());
    driver_.check(driver_.functions().to_device(memory.address() + static_cast<Address>(begin * size), bytes.get(),
                                                static_cast<std::size_t>((end - begin) * size)),
                  "cuMemcpyHtoD");
  }
}

void ArrayContents::fill_on_device(const Array& array, const DeviceMemory& memory) {
  Kinds kinds = kinds_of(array.dtype);
  Address to = memory.address();
  auto n = static_cast<std::uint64_t>(array.elements), seed = array.seed;
  auto size = static_cast<std::uint32_t>(base::size_of(array.dtype).n);
  launch_everywhere(driver_, helpers()->function("tilescope_fill", 0), {&to, &n, &seed, &size, kinds.data()});
}

void ArrayContents::read(unsigned char* to, const DeviceMemory& memory, std::size_t begin, std::size_t bytes) const {
  driver_.check(driver_.functions().from_device(to, memory.address() + begin, bytes), "cuMemcpyDtoH");
}

std::string ArrayContents::wrong_samples(const Array& a, const Check& check, const DeviceMemory& memory) const {
  const auto size = static_cast<std::size_t>(base::size_of(a.dtype).n);
  std::size_t wrong = 0;
  std::string first;
  for (const Expected& e : check.expected) {
    std::array<unsigned char, sizeof(double)> bytes{};
    read(bytes.data(), memory, static_cast<std::size_t>(e.element) * size, size);
    const double value = read_element(a.dtype, bytes.data());
    const bool equal = value == e.value || (std::isnan(value) && std::isnan(e.value));
    if (equal || std::fabs(value - e.value) <= check.tolerance) continue;
    if (wrong++ == 0)
      first = a.name + "[" + std::to_string(e.element) + "] is " + JsonObject::shortest(value) + ", not " +
              JsonObject::shortest(e.value);
  }
  if (wrong == 0) return {};
  return first + ": " + std::to_string(wrong) + " of " + std::to_string(check.expected.size()) + " are wrong";
}

std::optional<std::size_t> ArrayContents::first_difference(const DeviceMemory& a, const DeviceMemory& b) {
  if (helpers() != nullptr) {
    constexpr std::uint64_t kNowhere = ~std::uint64_t{0};
    const DeviceMemory found(driver_, sizeof(kNowhere));
    driver_.check(driver_.functions().to_device(found.address(), &kNowhere, sizeof(kNowhere)), "cuMemcpyHtoD");
    Address left = a.address(), right = b.address(), to = found.address();
    auto n = static_cast<std::uint64_t>(a.bytes());
    launch_everywhere(driver_, helpers()->function("tilescope_differ", 0), {&left, &right, &n, &to});
    std::uint64_t first = 0;
    driver_.check(driver_.functions().from_device(&first, found.address(), sizeof(first)), "cuMemcpyDtoH");
    return first == kNowhere ? std::nullopt : std::optional(static_cast<std::size_t>(first));
  }
  const Bytes left = new_bytes(std::min(a.bytes(), kPiece)), right = new_bytes(std::min(a.bytes(), kPiece));
  for (std::size_t begin = 0; begin < a.bytes(); begin += kPiece) {
    const std::size_t n = std::min(kPiece, a.bytes() - begin);
    read(left.get(), a, begin, n);
    read(right.get(), b, begin, n);
    const auto [here, there] = std::mismatch(left.get(), left.get() + n, right.get());
    if (here != left.get() + n) return begin + static_cast<std::size_t>(here - left.get());
  }
  return std::nullopt;
}

void launch_everywhere(const Driver& driver, void* helper, std::vector<void*> parameters) {
  constexpr unsigned kThreads = 256, kBlocksOfACore = 8;
  driver.check(driver.functions().launch(helper, kBlocksOfACore * static_cast<unsigned>(driver.device().cores), 1, 1,
                                         kThreads, 1, 1, 0, nullptr, parameters.data(), nullptr),
               "cuLaunchKernel");
}

}  // namespace tilescope::cuda::device
