// SPDX-License-Identifier: Apache-2.0
// What readers find in statements by their description is what the statements' documents show.

#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lower/kernel_document.h"
#include "lower/print.h"
#include "lower/statement_parts.h"
#include "tests/support/build.h"
#include "tests/support/expected.h"
#include "tests/support/paths.h"

namespace tilescope::lower {
namespace {

using testing::UnorderedElementsAreArray;

struct Texts {
  std::vector<std::string> accesses, guards, places;
};

// By the form of a text; of its key only whether an element is touched.
void collect(const std::string& key, const base::Value& v, Texts& out) {
  static const std::set<std::string> kPlaces = {"first", "last", "phase", "at", "indices"};
  if (const auto* map = v.get_if<base::Map>()) {
    for (const base::Entry& e : *map) collect(e.key, e.value, out);
  } else if (const auto* list = v.get_if<base::List>()) {
    for (const base::Value& inner : *list) collect(key, inner, out);
  } else if (const auto* text = v.get_if<std::string>()) {
    if (text->find('[') != std::string::npos) {
      if (key != "table") out.accesses.push_back(*text);
      out.places.push_back(text->substr(text->find('[') + 1, text->size() - text->find('[') - 2));
    } else if (text->find(" < ") != std::string::npos) {
      out.guards.push_back(text->substr(0, text->find(" < ")));
    } else if (kPlaces.contains(key)) {
      out.places.push_back(*text);
    }
  }
}

void expect_as_shown(const Kernel& k, const Statement& s, const base::Value& document) {
  base::Map own;
  for (const base::Entry& e : *document.get_if<base::Map>())
    if (e.key != "roles" && e.key != "note" && (e.key != "body" || std::holds_alternative<Compute>(s.what)))
      own.push_back(e);
  Texts shown, found;
  collect("", own, shown);
  bool reads = true;
  for_each_access(s, [&](const Access& a, AccessKind kind) {
    EXPECT_TRUE(reads || kind != AccessKind::kRead) << "reads come first";
    reads = kind == AccessKind::kRead;
    found.accesses.push_back(
        fmt::format("{}[{}]", k.buffers[static_cast<std::size_t>(a.buffer)].name, print(k, a.offset)));
  });
  for_each_guard(s, [&](const Affine& a) { found.guards.push_back(print(k, a)); });
  for_each_place(s, [&](const Affine& a) { found.places.push_back(print(k, a)); });
  const std::string text = base::to_json(document);
  EXPECT_THAT(found.accesses, UnorderedElementsAreArray(shown.accesses)) << text;
  EXPECT_THAT(found.guards, UnorderedElementsAreArray(shown.guards)) << text;
  EXPECT_THAT(found.places, UnorderedElementsAreArray(shown.places)) << text;
}

// Returns the kinds that the body has.
std::set<std::size_t> expect_all_as_shown(const Kernel& k, const std::vector<Statement>& body,
                                          const base::Value& list) {
  std::set<std::size_t> kinds;
  for (std::size_t n = 0; n < body.size(); ++n) {
    const Statement& s = body[n];
    const base::Value& document = (*list.get_if<base::List>())[n];
    kinds.insert(s.what.index());
    expect_as_shown(k, s, document);
    std::vector<const base::Value*> bodies;
    if (const base::Value* roles = document.find("roles"))
      for (const base::Value& r : *roles->get_if<base::List>()) bodies.push_back(r.find("body"));
    else if (document.find("body") != nullptr && !std::holds_alternative<Compute>(s.what))
      bodies.push_back(document.find("body"));
    std::size_t at = 0;
    for_inner_bodies(s, [&](const std::vector<Statement>& inner) {
      ASSERT_LT(at, bodies.size()) << kStatementNames[s.what.index()];
      kinds.merge(expect_all_as_shown(k, inner, *bodies[at++]));
    });
    EXPECT_EQ(at, bodies.size()) << kStatementNames[s.what.index()];
  }
  return kinds;
}

TEST(StatementFields, AreWhatDocumentsShow) {
  base::Diagnostics diags;
  const std::string text = tests::text_of_file(tests::source_path("tests/unit/lower/every_statement.json"));
  const auto document = base::read_json(text, diags.add_source("k.json"), diags, kKernelLimits);
  ASSERT_TRUE(document);
  const auto read = read_kernels(*document, tests::h100_with_tensor_memory(), diags);
  ASSERT_TRUE(read) << fmt::format("{}", fmt::join(diags.formatted_errors(), "\n"));
  const base::Value written = to_document(read->module, "", {}, false);
  const base::List& kernels = *written.find("kernels")->get_if<base::List>();
  std::set<std::size_t> kinds;
  for (std::size_t k = 0; k < kernels.size(); ++k)
    kinds.merge(expect_all_as_shown(read->module.kernels[k], read->module.kernels[k].body, *kernels[k].find("body")));
  EXPECT_EQ(kinds.size() + 1, kStatementNames.size()) << "all but the cluster barrier, which no chip runs";
}

TEST(StatementFields, HaveTheKeysOfTheDocument) {
  Statement s{Copy{{0, {}}, {1, {}}, 1, {}, {{{}, 4}}, false, Gather{{2, {}}, {3, {}}, 1, 8}}, {}};
  std::vector<std::string> keys;
  for_each_member(s, [&](const KeyPath& key, auto& /*member*/, const auto& /*about*/) { keys.push_back(key.text()); });
  EXPECT_THAT(keys, testing::ElementsAre(".to", ".from", ".elements", ".inside[0]", ".asynchronous", ".gather.index",
                                         ".gather.table", ".gather.stride", ".gather.extent"));
}

}  // namespace
}  // namespace tilescope::lower
