// SPDX-License-Identifier: Apache-2.0
#pragma once
// The single elements of a described row (describe.h), without any row: what its columns are called and of which types.

#include <cstddef>
#include <optional>
#include <type_traits>
#include <vector>

#include "base/describe.h"

namespace tilescope::base {

struct SingleElement {
  Column column;
  std::optional<bool> usual = {};        // of a truth that tables show only where it differs
  std::optional<std::size_t> part = {};  // the first element of its optional part, without which it is absent
};

template <class Visit>
class SingleElements {
 public:
  explicit SingleElements(Visit& visit) : visit_(visit) {}

  template <class T>
  void field(const Column& c, const T&) {
    tell<T>({c, {}, part_});
  }
  void flag(const Column& c, bool, bool usual) { tell<bool>({c, usual, part_}); }
  template <class Row>
  void part(const Row& row) {
    if constexpr (kIsOptional<Row>) {
      const auto outer = part_;
      part_ = count_;
      const typename Row::value_type inner{};
      describe(*this, inner);
      part_ = outer;
    } else {
      describe(*this, row);
    }
  }
  template <class Entry, class Number>
  void numbers(const NamedColumn&, const std::vector<Entry>&, Number Entry::*) {}
  template <class Entry>
  void rows(const NamedColumn&, const std::vector<Entry>&) {}

 private:
  template <class T>
  void tell(const SingleElement& e) {
    visit_(e, std::type_identity<T>());
    ++count_;
  }

  Visit& visit_;
  std::size_t count_ = 0;
  std::optional<std::size_t> part_;
};

// Calls `visit` with each element and the type_identity of its type, which may be optional, in the row's order, those
// of its parts among them.
template <class Row, class Visit>
void each_single_element(Visit visit) {
  SingleElements<Visit> elements(visit);
  const Row none{};
  describe(elements, none);
}

}  // namespace tilescope::base
