// SPDX-License-Identifier: Apache-2.0
#pragma once
// The parts that statements of all kinds have in common, found by their description (lower/statement_fields.h).

#include <concepts>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "lower/statement_fields.h"

namespace tilescope::lower {

// A visitor of several functions, for all alternatives of a variant. Readers list the kinds of statements that they
// have nothing to do with, so that a new kind does not compile until each reader says what it is to it.
template <class... Functions>
struct Visitor : Functions... {
  using Functions::operator()...;
};
template <class... Functions>
Visitor(Functions...) -> Visitor<Functions...>;

// A member's key, behind those of the structures that it is in.
struct KeyPath {
  const KeyPath* above = nullptr;
  std::string_view key;
  std::ptrdiff_t number = -1;  // of an element of a list

  // ".dims[1].at".
  std::string text() const {
    const std::string before = above == nullptr ? "" : above->text();
    return number < 0 ? before + "." + std::string(key) : before + "[" + std::to_string(number) + "]";
  }
};

// Of a member that is described by its key alone.
struct Plain {};
// Of a member that is a position.
struct NamedIn {
  Named of{};
  std::optional<Space> space = {};  // of a buffer
};

template <class T>
inline constexpr bool kIsList = false;
template <class T>
inline constexpr bool kIsList<std::vector<T>> = !std::same_as<T, Statement>;

// An Io that calls visit(path, member, about) for members that have none of their own, elements of lists one by one,
// bodies whole.
template <class Visit>
class MemberWalk {
 public:
  explicit MemberWalk(const Visit& visit, const KeyPath* above = nullptr) : visit_(visit), above_(above) {}

  void operator()(std::string_view key, auto& member) { walk({above_, key}, member, Plain{}); }
  void operator()(std::string_view key, auto& member, const auto& about) { walk({above_, key}, member, about); }
  template <class Member, class Absent = int>
  void optional(std::string_view key, Member& member, const Absent& /*absent*/) {
    walk({above_, key}, member, Plain{});
  }
  template <class Member, class About, class Absent = int>
  void optional(std::string_view key, Member& member, const About& about, const Absent& /*absent*/) {
    walk({above_, key}, member, about);
  }
  void name(std::string_view key, auto& member) { walk({above_, key}, member, Plain{}); }
  void named(std::string_view key, auto& position, Named of, std::optional<Space> space = {}) {
    walk({above_, key}, position, NamedIn{of, space});
  }

 private:
  template <class Member, class About>
  void walk(const KeyPath& path, Member& member, const About& about) {
    if constexpr (kIsList<std::remove_const_t<Member>>) {
      for (std::size_t n = 0; n < member.size(); ++n)
        walk({&path, {}, static_cast<std::ptrdiff_t>(n)}, member[n], about);
    } else if constexpr (requires { member.has_value(); }) {
      if (member) walk(path, *member, about);
    } else {
      MemberWalk inner(visit_, &path);
      if constexpr (requires { about(inner, member); })
        about(inner, member);
      else if constexpr (requires { fields(inner, member); })
        fields(inner, member);
      else
        visit_(path, member, about);
    }
  }

  const Visit& visit_;
  const KeyPath* above_;
};

// Calls visit(path, member, about) for the members of the statement itself.
template <class S, class Visit>
void for_each_member(S& s, const Visit& visit) {
  MemberWalk walk(visit);
  std::visit([&](auto& what) { fields(walk, what); }, s.what);
}

// As for_each_member, for Accesses alone: visit(path, access, operand), reads first.
template <class S, class Visit>
void for_each_operand(S& s, const Visit& visit) {
  for (const bool reads : {true, false})
    for_each_member(s, Visitor{[&](const KeyPath& path, OneOf<Access> auto& a, const auto& operand) {
                                 if (reads == (operand.kind == AccessKind::kRead)) visit(path, a, operand);
                               },
                               [](const auto&...) {}});
}

// Calls visit(access, kind) for each Access of the statement itself, reads first.
template <class S, class Visit>
void for_each_access(S& s, const Visit& visit) {
  for_each_operand(s, [&](const KeyPath& /*path*/, auto& a, const auto& operand) {
    if (operand.kind != AccessKind::kNone) visit(a, operand.kind);
  });
}

// Calls visit(affine) for the value of each guard of the statement itself.
template <class S, class Visit>
void for_each_guard(S& s, const Visit& visit) {
  for_each_member(s,
                  Visitor{[&](const KeyPath& /*path*/, OneOf<Guard> auto& g, const auto& /*about*/) { visit(g.value); },
                          [](const auto&...) {}});
}

// Calls visit(affine) for the offsets of accesses and of elements of tables, indices that are values, ends of loops,
// phases of mbarriers and beginnings of boxes of the statement itself.
template <class S, class Visit>
void for_each_place(S& s, const Visit& visit) {
  for_each_operand(s, [&](const KeyPath& /*path*/, auto& a, const auto& /*operand*/) { visit(a.offset); });
  for_each_member(s, Visitor{[&](const KeyPath& /*path*/, OneOf<Affine> auto& a, const auto& /*about*/) { visit(a); },
                             [](const auto&...) {}});
}

}  // namespace tilescope::lower
