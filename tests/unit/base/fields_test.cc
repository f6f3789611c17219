// SPDX-License-Identifier: Apache-2.0
#include "base/fields.h"

#include <gtest/gtest.h>

#include "tests/unit/base/reading.h"

namespace tilescope::base {
namespace {

using Texts = std::vector<std::string>;

// Runs `use(map, diags)` on the value of a YAML text and gives the messages.
template <class Use>
Texts errors_of(std::string_view text, Use use) {
  Diagnostics diags;
  const auto value = read_yaml(text, diags.add_source("in"), diags);
  if (value) use(*value, diags);
  return diags.formatted_errors();
}

// The messages of one typed reading of the only value of `v: ...`.
template <class Read>
Texts errors_of_value(const std::string& text, Read read) {
  return errors_of("v: " + text, [&](const Value& map, Diagnostics& diags) { read(map.find("v"), diags); });
}

TEST(Fields, TakesWhatIsThere) {
  const Texts errors = errors_of("a: 1\nb: x\n", [](const Value& map, Diagnostics& diags) {
    Fields fields(map, "a thing", diags);
    EXPECT_EQ(fields.require("a"), map.find("a"));
    EXPECT_EQ(fields.take("b"), map.find("b"));
    EXPECT_EQ(fields.take("c"), nullptr);
    EXPECT_EQ(fields.at(), map.at);
    fields.finish();
  });
  EXPECT_EQ(errors, Texts{});
}

TEST(Fields, ReportsMissingUnknownAndDuplicateKeysTogether) {
  const Texts errors =
      errors_of("x:\n  clok: 1\n  zzz: 2\n  class: 3\n  class: 4\n", [](const Value& map, Diagnostics& diags) {
        Fields fields(*map.find("x"), "a chip", diags);
        fields.require("clock");
        fields.take("class");
        fields.finish();
      });
  EXPECT_EQ(errors, (Texts{"in:2:3: a chip lacks the key 'clock'",
                           "in:2:3: unknown key 'clok' in a chip; did you mean 'clock'?",
                           "in:3:3: unknown key 'zzz' in a chip", "in:5:3: duplicate key 'class' in a chip"}));
}

TEST(Fields, AnythingButAMapIsOneError) {
  const Texts errors = errors_of("[1]", [](const Value& list, Diagnostics& diags) {
    Fields fields(list, "a chip", diags);
    EXPECT_EQ(fields.require("clock"), nullptr);
    EXPECT_EQ(fields.take("class"), nullptr);
    fields.finish();
  });
  EXPECT_EQ(errors, Texts{"in:1:1: a chip: expected a map, got a list"});
}

TEST(AsInteger, ReadsWholeNumbersWithinTheRange) {
  Diagnostics diags;
  const Value three = 3;
  EXPECT_EQ(as_integer(&three, "v", {}, diags), 3);
  EXPECT_EQ(as_integer(&three, "v", {.least = 3, .most = 3}, diags), 3);
  EXPECT_EQ(as_integer(nullptr, "v", {}, diags), std::nullopt);
  EXPECT_TRUE(diags.ok());
}

TEST(AsInteger, SaysWhatIsExpected) {
  const auto with = [](IntegerRange range) {
    return [range](const Value* v, Diagnostics& diags) { EXPECT_EQ(as_integer(v, "n", range, diags), std::nullopt); };
  };
  EXPECT_EQ(errors_of_value("1.5", with({})), Texts{"in:1:4: n: expected a whole number, got the number 1.5"});
  EXPECT_EQ(errors_of_value("2.0", with({})), Texts{"in:1:4: n: expected a whole number, got the number 2.0"});
  EXPECT_EQ(errors_of_value("'2'", with({})), Texts{"in:1:4: n: expected a whole number, got the text '2'"});
  EXPECT_EQ(errors_of_value("0", with({.least = 1})),
            Texts{"in:1:4: n: expected a whole number of at least 1, got the number 0"});
  EXPECT_EQ(errors_of_value("9", with({.most = 8})),
            Texts{"in:1:4: n: expected a whole number of at most 8, got the number 9"});
  EXPECT_EQ(errors_of_value("9", with({.least = 1, .most = 8})),
            Texts{"in:1:4: n: expected a whole number from 1 to 8, got the number 9"});
  EXPECT_EQ(errors_of_value("99999999999999999999", with({})),
            Texts{"in:1:4: n: expected a whole number of 64 bits, got the number 1e+20"});
}

TEST(AsNumber, ReadsBothKindsOfNumbersButNothingElse) {
  Diagnostics diags;
  const Value whole = 3;
  const Value real = 0.5;
  EXPECT_EQ(as_number(&whole, "v", diags), 3.0);
  EXPECT_EQ(as_number(&real, "v", diags), 0.5);
  EXPECT_EQ(as_number(nullptr, "v", diags), std::nullopt);
  EXPECT_TRUE(diags.ok());
  const auto refused = [](const Value* v, Diagnostics& d) { EXPECT_EQ(as_number(v, "n", d), std::nullopt); };
  EXPECT_EQ(errors_of_value("x", refused), Texts{"in:1:4: n: expected a number, got the text 'x'"});
  EXPECT_EQ(errors_of_value(".nan", refused), Texts{"in:1:4: n: expected a number, got the number nan"});
  EXPECT_EQ(errors_of_value("-.inf", refused), Texts{"in:1:4: n: expected a number, got the number -inf"});
}

TEST(AsBool, ReadsTrueAndFalseOnly) {
  Diagnostics diags;
  const Value no = false;
  EXPECT_EQ(as_bool(&no, "v", diags), false);
  EXPECT_EQ(as_bool(nullptr, "v", diags), std::nullopt);
  EXPECT_TRUE(diags.ok());
  EXPECT_EQ(errors_of_value("no", [](const Value* v, Diagnostics& d) { EXPECT_EQ(as_bool(v, "n", d), std::nullopt); }),
            Texts{"in:1:4: n: expected true or false, got the text 'no'"});
}

TEST(AsText, ReadsTextsOnly) {
  Diagnostics diags;
  const Value text = "x";
  EXPECT_EQ(as_text(&text, "v", diags), "x");
  EXPECT_EQ(as_text(nullptr, "v", diags), std::nullopt);
  EXPECT_TRUE(diags.ok());
  EXPECT_EQ(errors_of_value("12", [](const Value* v, Diagnostics& d) { EXPECT_EQ(as_text(v, "n", d), std::nullopt); }),
            Texts{"in:1:4: n: expected a text, got the number 12"});
}

TEST(AsListAndMap, GiveTheContainerOrAnError) {
  Diagnostics diags;
  const Value list = List{1};
  const Value map = Map{};
  EXPECT_EQ(as_list(&list, "v", diags), list.get_if<List>());
  EXPECT_EQ(as_map(&map, "v", diags), map.get_if<Map>());
  EXPECT_EQ(as_list(nullptr, "v", diags), nullptr);
  EXPECT_EQ(as_map(nullptr, "v", diags), nullptr);
  EXPECT_TRUE(diags.ok());
  EXPECT_EQ(errors_of_value("{}", [](const Value* v, Diagnostics& d) { EXPECT_EQ(as_list(v, "n", d), nullptr); }),
            Texts{"in:1:4: n: expected a list, got a map"});
  EXPECT_EQ(errors_of_value("~", [](const Value* v, Diagnostics& d) { EXPECT_EQ(as_map(v, "n", d), nullptr); }),
            Texts{"in:1:4: n: expected a map, got nothing"});
}

TEST(AsChoice, GivesTheIndexOrTheList) {
  Diagnostics diags;
  const Value bsp = "bsp";
  EXPECT_EQ(as_choice(&bsp, "class", {"gpu", "bsp"}, diags), 1U);
  EXPECT_EQ(as_choice(nullptr, "class", {"gpu"}, diags), std::nullopt);
  EXPECT_TRUE(diags.ok());
  const auto refused = [](const Value* v, Diagnostics& d) {
    EXPECT_EQ(as_choice(v, "class", {"gpu", "bsp"}, d), std::nullopt);
  };
  EXPECT_EQ(errors_of_value("gpx", refused),
            Texts{"in:1:4: class: expected one of gpu, bsp, got 'gpx'; did you mean 'gpu'?"});
  EXPECT_EQ(errors_of_value("tpu_pod", refused), Texts{"in:1:4: class: expected one of gpu, bsp, got 'tpu_pod'"});
  EXPECT_EQ(errors_of_value("1", refused), Texts{"in:1:4: class: expected a text, got the number 1"});
}

}  // namespace
}  // namespace tilescope::base
