// SPDX-License-Identifier: Apache-2.0
#pragma once
// The result of an import: the text of our file, and what became of every key of the input.

#include <string>
#include <string_view>
#include <vector>

#include "base/describe.h"
#include "base/diagnostics.h"
#include "base/document.h"

namespace tilescope::importers {

struct TakenKey {
  std::string key, value, became;
};

struct MeaninglessKey {
  std::string key, value, reason;
};

// A key that the reader does not know, with the closest that it does, if any.
struct UnknownKey {
  std::string key, value, hint;
  base::Position at;
};

// A figure of the imported chip that differs from the chip that it extends; null where only one of them has it.
struct Difference {
  std::string path;
  base::Value ours, imported;
};

struct Report {
  std::vector<TakenKey> taken;
  std::vector<MeaninglessKey> meaningless;
  std::vector<UnknownKey> unknown;
};

template <class V>
void describe(V& v, base::Is<TakenKey> auto& k) {
  v.field({"key", "", "A key of the input."}, k.key);
  v.field({"given", "", "Its value there."}, k.value);
  v.field({"became", "", "What it became, with the rule where it is not the value itself."}, k.became);
}

template <class V>
void describe(V& v, base::Is<MeaninglessKey> auto& k) {
  v.field({"key", "", "A key of the input."}, k.key);
  v.field({"given", "", "Its value there."}, k.value);
  v.field({"reason", "", "Why it means nothing here."}, k.reason);
}

template <class V>
void describe(V& v, base::Is<UnknownKey> auto& k) {
  v.field({"key", "", "A key of the input that the reader does not know."}, k.key);
  v.field({"given", "", "Its value there."}, k.value);
}

struct Imported {
  std::string text;  // of our file
  std::string kind;  // "chip" or "suite"
  std::string name;  // of the chip
  std::string base;  // the device that the chip extends; empty for others
  Report report;
  std::vector<Difference> differences;  // from that device
};

// {"kind", "extends", "taken": [..], "meaningless": [..], "not_understood": [..], "differences": [..]}.
base::Value to_document(const Imported& imported);

}  // namespace tilescope::importers
