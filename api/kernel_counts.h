// SPDX-License-Identifier: Apache-2.0
#pragma once
// `tilescope predict --kernel`: counts what kernels do. There is no predicted time, because the model reads programs,
// not kernels.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/source.h"
#include "arch/spec.h"
#include "base/describe.h"
#include "base/diagnostics.h"

namespace tilescope::api {

// Accesses to the device's memory, as its cache sees them, or to the scratchpad. Transactions are sectors or bank
// passes (lower/counters.h).
struct KernelLevel {
  std::string name;
  std::int64_t read_bytes = 0, written_bytes = 0, requests = 0, transactions = 0;
};

template <class V>
void describe(V& v, base::Is<KernelLevel> auto& l) {
  v.field({"read_bytes", "B", "Bytes that lanes load from the level."}, l.read_bytes);
  v.field({"written_bytes", "B", "Bytes that lanes store to the level."}, l.written_bytes);
  v.field({"requests", "", "Accesses of warps to the level."}, l.requests);
  v.field({"transactions", "", "Sectors or bank passes of the level."}, l.transactions);
}

struct KernelCount {
  std::string name;
  double operations = 0;
  bool operations_at_most = false;
  std::vector<KernelLevel> levels;
};

template <class V>
void describe(V& v, base::Is<KernelCount> auto& k) {
  v.field({"name", "", "Name of the kernel."}, k.name);
  v.field({"operations", "", "Arithmetic operations of the kernel; a multiply-add is two."}, k.operations);
  v.flag({"operations_at_most", "", "Whether guards may skip some operations."}, k.operations_at_most, false);
  v.rows({{"levels", "", "Accesses to each level."}, "", "level."}, k.levels);
}

// The exact counts of the kernels of a Kernel document; nullopt after errors.
std::optional<std::vector<KernelCount>> count_kernels(const NamedText& file, const arch::ArchSpec& a,
                                                      base::Diagnostics& diags);

// {"kernels":[...],"predicted_us":null}.
base::Value to_document(const std::vector<KernelCount>& kernels);

}  // namespace tilescope::api
