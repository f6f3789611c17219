// SPDX-License-Identifier: Apache-2.0
// tilescope arch: what chips there are, what one is, whether a file describes one.

#include <set>

#include <gmock/gmock.h>

#include "tests/cli/run_cli.h"

namespace tilescope::tests {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;
using Arch = Cli;

TEST_F(Arch, ListNamesEveryDevice) {
  const Json devices = json({"arch", "list"}).at("devices");
  std::vector<std::string> names;
  for (const Json& d : devices) {
    EXPECT_THAT(keys_of(d), ElementsAre("name", "title", "class", "path"));
    const bool exchanges =
        std::set<std::string>{"bow_ipu", "ipu_gc2", "ipu_gc200", "wormhole_n150", "wse2"}.contains(d.at("name"));
    EXPECT_EQ(d.at("class"), exchanges ? "bsp" : "gpu");
    EXPECT_TRUE(std::filesystem::exists(d.at("path").get<std::string>()));
    names.push_back(d.at("name"));
  }
  EXPECT_THAT(names, testing::IsSupersetOf({"a100", "h100_pcie", "k80", "mi50", "rtx2080ti", "tilescope_one", "v100"}));
  const CliResult r = run({"arch", "list"});
  EXPECT_EQ(r.status, 0);
  for (const std::string& name : names) EXPECT_THAT(r.out, HasSubstr("\n" + name + " "));
}

TEST_F(Arch, ListSaysTheClassOfAChipWithoutCores) {
  std::filesystem::create_directories(path("home/arch/devices"));
  std::filesystem::copy(source_path("tests/error/arch/minimal_memory.yaml"), path("home/arch/devices"));
  setenv("TILESCOPE_HOME", path("home").c_str(), 1);
  const CliResult r = run({"arch", "list"});
  unsetenv("TILESCOPE_HOME");
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(r.out, testing::ContainsRegex("minimal_memory +memory +- +128 GB/s"));
}

// Elements are closed in their order, and neither texts nor attributes hold what XML would read otherwise.
void expect_well_formed(const std::string& xml) {
  std::vector<std::string> open;
  for (std::size_t at = 0; at < xml.size();) {
    const std::size_t less = xml.find('<', at), end = xml.find('>', less);
    if (less == std::string::npos) break;
    ASSERT_NE(end, std::string::npos);
    for (std::size_t amp = xml.find('&', at); amp < less; amp = xml.find('&', amp + 1))
      EXPECT_TRUE(xml.compare(amp, 5, "&amp;") == 0 || xml.compare(amp, 4, "&lt;") == 0) << xml.substr(amp, 20);
    const std::string tag = xml.substr(less + 1, end - less - 1);
    EXPECT_EQ(std::count(tag.begin(), tag.end(), '"') % 2, 0) << tag;
    EXPECT_EQ(tag.find('<'), std::string::npos) << tag;
    if (tag.starts_with('/')) {
      ASSERT_FALSE(open.empty()) << tag;
      EXPECT_EQ(tag.substr(1), open.back());
      open.pop_back();
    } else if (!tag.ends_with('/')) {
      open.push_back(tag.substr(0, tag.find(' ')));
    }
    at = end + 1;
  }
  EXPECT_TRUE(open.empty());
}

TEST_F(Arch, ShowDrawsEveryDevice) {
  for (const Json& d : json({"arch", "list"}).at("devices")) {
    const std::string name = d.at("name");
    SCOPED_TRACE(name);
    const CliResult r = run({"arch", "show", name, "--svg", "-"});
    EXPECT_EQ(r.status, 0) << r.err;
    EXPECT_THAT(r.out, testing::AllOf(StartsWith("<svg xmlns"), HasSubstr(">" + name)));
    expect_well_formed(r.out);
    const Json chip = json({"arch", "show", name});
    for (const auto& [level, keys] : chip.at("memory").items()) {
      std::int64_t capacity = keys.at("capacity_bytes");
      const char* unit = "B";
      if (capacity % 1'000'000'000 == 0) {
        capacity /= 1'000'000'000;
        unit = "GB";
      }
      for (const char* larger : {"KiB", "MiB", "GiB"})
        if (capacity % 1024 == 0) {
          capacity /= 1024;
          unit = larger;
        }
      EXPECT_THAT(r.out, testing::ContainsRegex(">" + level + ": [a-z]+</text>"));
      EXPECT_THAT(r.out, HasSubstr(">" + std::to_string(capacity) + " " + unit)) << level;
    }
    for (const Json& unit : chip.at("compute"))
      EXPECT_THAT(r.out, HasSubstr(">" + unit.at("name").get<std::string>() + "</text>"));
  }
}

TEST_F(Arch, ShowDrawsToAFile) {
  const CliResult r = run({"arch", "show", "v100", "--svg", "v100.svg"});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(r.out, "");
  EXPECT_EQ(text_of_file(path("v100.svg")), run({"arch", "show", "v100", "--svg", "-"}).out);
}

TEST_F(Arch, ShowHoldsCausesAndDerivedEffects) {
  const Json v100 = json({"arch", "show", "v100"});
  EXPECT_EQ(v100.at("name"), "v100");
  EXPECT_EQ(v100.at("core").at("count"), 80);
  EXPECT_EQ(v100.at("memory").at("dram").at("derived").at("transaction_bytes"), 32);
  EXPECT_THAT(run({"arch", "show", "v100"}).out, StartsWith("name: v100\n"));
  const Json ipu = json({"arch", "show", "ipu_gc200"});
  EXPECT_EQ(ipu.at("core").at("issue_interval_cycles"), 6);
  EXPECT_DOUBLE_EQ(ipu.at("link").at("derived").at("bandwidth_gbps"), 4 * 1472 * 1.33);
}

TEST_F(Arch, SetChangesTheChipAndNotesWhatItMakesVoid) {
  const CliResult r = run({"arch", "show", "v100", "--json", "--set", "clock=1.5 GHz"});
  EXPECT_EQ(r.status, 0);
  EXPECT_EQ(Json::parse(r.out).at("clock_hz"), 1500000000);
  EXPECT_THAT(r.err, StartsWith("note: --set clock=1.5 GHz: compute.fma.f32.peak of 14 TFLOP/s is dropped"));
}

TEST_F(Arch, CheckReportsEveryFile) {
  const std::string good = source_path("arch/devices/v100.yaml").string();
  write("bad.yaml", "name: bad\nclas: gpu\n");
  const CliResult r = run({"arch", "check", good, "bad.yaml", "none.yaml"});
  EXPECT_EQ(r.status, 2);
  EXPECT_EQ(r.out, good + ": v100: good\n");
  EXPECT_THAT(r.err, HasSubstr("bad.yaml:2:1: unknown key 'clas'"));
  EXPECT_THAT(r.err, HasSubstr("none.yaml: "));

  const CliResult with_json = run({"arch", "check", "--json", good, "bad.yaml"});
  EXPECT_EQ(with_json.status, 2);
  const Json files = Json::parse(with_json.out).at("files");
  EXPECT_THAT(keys_of(files.at(0)), ElementsAre("file", "ok", "errors", "advice"));
  EXPECT_TRUE(files.at(0).at("ok"));
  EXPECT_FALSE(files.at(1).at("ok"));
  EXPECT_FALSE(files.at(1).at("errors").empty());
  EXPECT_EQ(json({"arch", "check", good}).at("files").size(), 1U);
}

// The issue's show: `arch check` on each file of tests/error.
TEST_F(Arch, CheckSaysOfEveryErrorFileWhatItsExpectationSays) {
  const auto folder = source_path("tests/error/arch");
  for (const std::string& name : names_in(folder, ".yaml")) {
    const std::string expected = text_of_file(folder / (name + ".expected"));
    // A description is checked even where no reader of programs knows a level yet: that is a note here.
    const bool is_good = expected.empty() || name == "cluster_scratchpad";
    const CliResult r = run({"arch", "check", (folder / (name + ".yaml")).string()});
    EXPECT_EQ(r.status, is_good ? 0 : 2) << name;
    EXPECT_TRUE(is_good || !r.err.empty()) << name;
    EXPECT_EQ(r.out.empty(), !is_good) << name;
  }
}

// A file may leave open what answers depend on, and say what cannot be without being impossible to run.
TEST_F(Arch, CheckAdvises) {
  write("open.yaml", text_of_file(source_path("docs/my_chip.yaml")));
  const CliResult r = run({"arch", "check", "open.yaml"});
  EXPECT_EQ(r.status, 0);
  EXPECT_EQ(r.out, "open.yaml: my_chip: good\n");
  EXPECT_THAT(r.err, HasSubstr("memory.dram.banks: absent: every access finds its row open"));
  EXPECT_THAT(r.err, HasSubstr("memory.dram.timing: absent: "));
  // 500 cycles of 1.5 GHz at 640 GB/s are 1,667 lines of 128 B, by 32 slices and 64 cores.
  EXPECT_THAT(r.err, HasSubstr("memory.l2.mshrs: absent: no bound on the lines in flight. The DRAM's full "
                               "bandwidth needs 53 for each slice"));
  EXPECT_THAT(r.err, HasSubstr("memory.l1.mshrs: absent: no bound on the lines in flight. The DRAM's full "
                               "bandwidth needs 27 for each core"));
  EXPECT_THAT(json({"arch", "check", "open.yaml"}).at("files").at(0).at("advice"), testing::SizeIs(4));

  const CliResult strict = run({"arch", "check", "--strict", "open.yaml"});
  EXPECT_EQ(strict.status, 2);
  EXPECT_EQ(strict.out, "");
  EXPECT_THAT(strict.err, HasSubstr("open.yaml:19:9: memory.dram.banks: absent"));

  const auto advice_of = [&](const std::string& changes) {
    write("changed.yaml", "extends: a100\nname: changed\n" + changes);
    return run({"arch", "check", "changed.yaml"}).err;
  };
  EXPECT_THAT(advice_of("compute: [{name: mma.f16, latency: 1 cycles}]\n"),
              HasSubstr("compute.mma.f16.latency: 1 cycles, but one instruction keeps its unit busy for "));
  const std::string whole = text_of_file(source_path("docs/my_chip.yaml"));
  const std::size_t begin = whole.find("    fragments:"), end = whole.find("    per_core:");
  write("open.yaml", whole.substr(0, begin) + whole.substr(end));
  EXPECT_THAT(run({"arch", "check", "open.yaml"}).err,
              HasSubstr("compute.mma.f16.fragments: absent: no program multiplies by mma.f16; products of f16 take "
                        "fma.f32, 8 times slower"));
}

// 13.75 ns are 11 cycles of 800 MHz and 12 of 850 MHz; 10 ns are 8 and 9.
TEST_F(Arch, TimesOfADramFollowItsClock) {
  write("ns.yaml", "extends: v100\nname: ns\nmemory: {dram: {timing: {rcd: 13.75 ns, rp: 0.01 us}}}\n");
  const auto timing = [&](const std::string& clock) {
    const CliResult r = run({"arch", "show", "ns.yaml", "--json", "--set", "memory.dram.clock=" + clock});
    return Json::parse(r.out).at("memory").at("dram").at("timing");
  };
  EXPECT_EQ(timing("800 MHz").at("rcd_cycles"), 11);
  EXPECT_EQ(timing("850 MHz").at("rcd_cycles"), 12);
  EXPECT_EQ(timing("800 MHz").at("rp_cycles"), 8);
  EXPECT_EQ(timing("850 MHz").at("rp_cycles"), 9);
  EXPECT_THAT(run({"arch", "show", "v100", "--set", "memory.dram.timing.rcd=1 GHz"}).err,
              HasSubstr("expected a number of cycles such as '425 cycles'"));
}

TEST_F(Arch, SchemaIsOneDocument) {
  EXPECT_EQ(json({"arch", "schema"}).at("$schema"), "http://json-schema.org/draft-07/schema#");
  EXPECT_EQ(Json::parse(run({"arch", "schema"}).out), json({"arch", "schema"}));
}

TEST_F(Arch, DiffListsWhatIsDifferentAndNothingElse) {
  EXPECT_EQ(json({"diff", "v100", "v100"}).at("differences"), Json::array());
  const std::string other = write("other.yaml", "extends: v100\nname: other\nmemory:\n  smem: {banks: 64}\n");
  const Json all = json({"diff", "v100", other});
  EXPECT_EQ(all.at("right"), "other");
  std::set<std::string> stated;
  for (const Json& d : all.at("differences"))
    if (!d.at("derived")) stated.insert(d.at("path"));
  EXPECT_THAT(stated, testing::IsSupersetOf({"name", "memory.smem.banks"}));
  const CliResult r = run({"diff", "v100", other});
  EXPECT_THAT(r.out, testing::ContainsRegex("memory.smem.banks +32 +64\n"));
  EXPECT_THAT(bad_input({"diff", "v100", "v1000"}), HasSubstr("did you mean 'v100'?"));
}

TEST_F(Arch, ShowPrintsAreaAndPriceByPart) {
  const Json both = json({"arch", "show", "a100", "--area", "--price"});
  EXPECT_THAT(keys_of(both), ElementsAre("chip", "area", "price"));
  double mm2 = 0, usd = 0;
  for (const Json& part : both.at("area").at("parts")) {
    EXPECT_THAT(keys_of(part), ElementsAre("group", "part", "mm2", "share", "rule", "source"));
    mm2 += part.at("mm2").get<double>();
  }
  for (const Json& part : both.at("price").at("parts")) usd += part.at("usd").get<double>();
  EXPECT_DOUBLE_EQ(mm2, both.at("area").at("total_mm2"));
  EXPECT_DOUBLE_EQ(usd, both.at("price").at("total_usd"));
  EXPECT_EQ(both.at("area").at("stated_mm2"), 826);
  const CliResult table = run({"arch", "show", "a100", "--area", "--price", "--legend"});
  EXPECT_EQ(table.status, 0) << table.err;
  EXPECT_THAT(table.out, testing::AllOf(StartsWith("area of GA100 (7nm), 128 cores built, 108 enabled\n"),
                                        HasSubstr("48 MiB built x 0.17 um2 a bit / 0.602"), HasSubstr("LLMCompass"),
                                        HasSubstr("published: 826 mm2"), HasSubstr("yield: (1 + "),
                                        HasSubstr("sources of the figures in the rule")));
  EXPECT_THAT(keys_of(json({"arch", "show", "h200", "--area"})), ElementsAre("chip", "area"));
  EXPECT_THAT(keys_of(json({"arch", "show", "h200", "--price"})), ElementsAre("chip", "price"));
}

TEST_F(Arch, AreaFollowsOverrides) {
  const auto mm2 = [&](const std::string& set) {
    const Json area = json({"arch", "show", "h200", "--area", "--set", set}).at("area");
    EXPECT_FALSE(area.contains("stated_mm2")) << set << ": the published area is of another chip";
    return area.at("total_mm2").get<double>();
  };
  const double base = json({"arch", "show", "h200", "--area"}).at("area").at("total_mm2");
  EXPECT_GT(mm2("memory.smem.banks=64"), base);
  EXPECT_GT(mm2("memory.l2.capacity=100MiB"), base + 80);
  EXPECT_LT(mm2("core.count=66"), base - 200);
}

TEST_F(Arch, ShowPrintsFiguresOfEnergyWithTheRuleOfThoseThatFollow) {
  const auto figure = [&](const Json& shown, const std::string& key) {
    for (const Json& f : shown.at("energy").at("figures"))
      if (f.at("key") == key) return f;
    return Json();
  };
  const Json base = json({"arch", "show", "h200", "--energy"});
  EXPECT_THAT(keys_of(base), ElementsAre("chip", "energy"));
  for (const Json& f : base.at("energy").at("figures")) EXPECT_EQ(f.at("factor"), 1) << f;
  const Json changed = json({"arch", "show", "h200", "--energy", "--area", "--price", "--set", "memory.smem.banks=64",
                             "--set", "memory.l2.capacity=100MiB"});
  EXPECT_THAT(keys_of(changed), ElementsAre("chip", "energy", "area", "price"));
  const Json smem = figure(changed, "energy.levels.smem.byte"), l2 = figure(changed, "energy.levels.l2.byte");
  EXPECT_GT(smem.at("factor"), 1) << "wires of a larger crossbar";
  EXPECT_GT(l2.at("factor"), 1);
  EXPECT_THAT(l2.at("rule").get<std::string>(), HasSubstr("100 MiB over 50 MiB"));
  EXPECT_EQ(figure(changed, "energy.levels.l1.byte"), figure(base, "energy.levels.l1.byte"));
  const CliResult table = run({"arch", "show", "h200", "--energy", "--legend"});
  EXPECT_EQ(table.status, 0) << table.err;
  EXPECT_THAT(table.out, testing::AllOf(StartsWith("at rest, 1980 MHz, "), HasSubstr("energy.operations.mma.f16")));
  EXPECT_THAT(bad_input({"arch", "show", "mi300x", "--energy"}), StartsWith("mi300x: power: what the board draws"));
}

TEST_F(Arch, AreaIsRefusedWithPlaceAndRemedy) {
  EXPECT_THAT(bad_input({"arch", "show", "mi300x", "--area"}),
              StartsWith("mi300x: the chip mi300x has no `die`, which area and price follow from; state its name"));
  const std::string chip = write("c.yaml", "extends: a100\nname: c\ndie: {node: 9nm}\n");
  EXPECT_THAT(bad_input({"arch", "show", chip, "--price"}),
              StartsWith("c.yaml:3:13: die.node: no density of '9nm'; energy/technology/process.yaml knows 5nm, 4N"));
  EXPECT_THAT(bad_input({"arch", "show", "a100", "--area", "--svg", "-"}), HasSubstr("excludes"));
  const CliResult note = run({"arch", "show", "v100", "--area"});
  EXPECT_EQ(note.status, 0);
  EXPECT_THAT(note.err, HasSubstr("die.area: the parts of GV100 are"));
}

}  // namespace
}  // namespace tilescope::tests
