// SPDX-License-Identifier: Apache-2.0
#pragma once
// Files exchanged between Tilescope and the process that runs emitted kernels on the CPU: a Request and a Response.

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace tilescope::cuda::host {

// The chip's figures for counting accesses.
struct Rules {
  std::int64_t warp = 0;
  std::int64_t sector_bytes = 0;  // of the device's cache
  std::int64_t banks = 0;         // of the scratchpad
  std::int64_t bank_bytes = 0;    // width of one
};

enum class Role : std::int64_t { kInput, kOutput, kBetween };

struct GlobalArray {
  std::string name;
  Role role{};
  std::int64_t element_bytes = 1;
  std::string bytes;  // the values of a kInput; of the others only the size matters
};

struct Request {
  std::string key;  // of the module
  std::uint64_t seed = 0;
  Rules rules;
  std::vector<double> scalars;
  std::vector<GlobalArray> globals;
};

// Counts of one side of one copy, as lower/counters.h describes them.
struct SideCount {
  std::int64_t lane_accesses = 0, requests = 0, bytes = 0, sectors = 0, passes = 0;
};
struct CopyCounts {
  SideCount global, shared;
};

struct Response {
  std::vector<std::string> globals;               // bytes of each global, in order
  std::vector<std::vector<CopyCounts>> counters;  // by kernel and copy; empty where nothing is counted
};

class WireWriter {
 public:
  template <class T>
  void put(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    out_.append(reinterpret_cast<const char*>(&value), sizeof(T));
  }
  void put_text(std::string_view text) {
    put(static_cast<std::int64_t>(text.size()));
    out_.append(text);
  }
  template <class T>
  void put_all(const std::vector<T>& values) {
    put(static_cast<std::int64_t>(values.size()));
    for (const T& v : values) put(v);
  }
  const std::string& bytes() const { return out_; }

 private:
  std::string out_;
};

// Reads what a WireWriter wrote. Past the end everything is zero and `ok` is false.
class WireReader {
 public:
  explicit WireReader(std::string_view bytes) : left_(bytes) {}

  template <class T>
  T get() {
    T value{};
    ok_ = ok_ && left_.size() >= sizeof(T);
    if (!ok_) return value;
    std::memcpy(&value, left_.data(), sizeof(T));
    left_.remove_prefix(sizeof(T));
    return value;
  }
  std::string get_text() {
    const std::size_t size = get_size(1);
    std::string out(left_.substr(0, size));
    left_.remove_prefix(size);
    return out;
  }
  template <class T>
  std::vector<T> get_all() {
    std::vector<T> out(get_size(sizeof(T)));
    for (T& v : out) v = get<T>();
    return out;
  }
  // The number of items that follow, each of at least `each` bytes; 0 where so many cannot follow.
  std::size_t get_size(std::size_t each) {
    const auto size = static_cast<std::size_t>(get<std::int64_t>());
    ok_ = ok_ && size <= left_.size() / each;
    return ok_ ? size : 0;
  }
  bool ok() const { return ok_; }

 private:
  std::string_view left_;
  bool ok_ = true;
};

inline std::string to_wire(const Request& r) {
  WireWriter w;
  w.put_text(r.key);
  w.put(r.seed);
  w.put(r.rules);
  w.put_all(r.scalars);
  w.put(static_cast<std::int64_t>(r.globals.size()));
  for (const GlobalArray& g : r.globals) {
    w.put_text(g.name);
    w.put(g.role);
    w.put(g.element_bytes);
    w.put_text(g.bytes);
  }
  return w.bytes();
}

inline bool from_wire(std::string_view bytes, Request& r) {
  WireReader w(bytes);
  r.key = w.get_text();
  r.seed = w.get<std::uint64_t>();
  r.rules = w.get<Rules>();
  r.scalars = w.get_all<double>();
  r.globals.resize(w.get_size(1));
  for (GlobalArray& g : r.globals) {
    g.name = w.get_text();
    g.role = w.get<Role>();
    g.element_bytes = w.get<std::int64_t>();
    g.bytes = w.get_text();
  }
  return w.ok();
}

inline std::string to_wire(const Response& r) {
  WireWriter w;
  w.put(static_cast<std::int64_t>(r.globals.size()));
  for (const std::string& g : r.globals) w.put_text(g);
  w.put(static_cast<std::int64_t>(r.counters.size()));
  for (const auto& kernel : r.counters) w.put_all(kernel);
  return w.bytes();
}

inline bool from_wire(std::string_view bytes, Response& r) {
  WireReader w(bytes);
  r.globals.resize(w.get_size(1));
  for (std::string& g : r.globals) g = w.get_text();
  r.counters.resize(w.get_size(1));
  for (auto& kernel : r.counters) kernel = w.get_all<CopyCounts>();
  return w.ok();
}

}  // namespace tilescope::cuda::host
