// SPDX-License-Identifier: Apache-2.0
// tilescope simulate --timeline: a file that viewers of the Chrome trace event format open, and what is said of bad
// input.

#include <cmath>
#include <cstdlib>
#include <map>
#include <set>

#include <gmock/gmock.h>

#include "tests/cli/run_cli.h"

namespace tilescope::tests {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::Not;
using testing::StartsWith;

class Timeline : public Cli {
 protected:
  // A matrix product of 16 blocks, each of four warps, and its timeline t.json.
  Args simulate(const Args& more = {}) {
    const std::string program = R"json({"arch":"v100","nodes":[{"expr":"C[m,n] +=! A[m,k] * B[k,n]",
      "sizes":{"m":128,"n":128,"k":64},"dtype":"f32","tiles":{"smem":{"m":32,"n":32,"k":16},"reg":{"m":4,"n":2}},
      "mapping":{"m":{"threads":8,"per_thread":4},"n":{"threads":16,"per_thread":2}}}],"edges":[]})json";
    return with({"simulate", "--arch", "v100", "--program", write("p.json", program), "--mode", "full"}, more);
  }
  Json timeline() const { return Json::parse(text_of_file(path("t.json"))); }
  std::set<std::string> files() const {
    std::set<std::string> names;
    for (const auto& f : std::filesystem::directory_iterator(path("."))) names.insert(f.path().filename());
    return names;
  }
};

std::vector<Json> of_phase(const Json& document, const std::string& phase) {
  std::vector<Json> out;
  for (const Json& e : document.at("traceEvents"))
    if (e.at("ph") == phase) out.push_back(e);
  return out;
}

// What metadata events call a process or thread.
std::map<std::int64_t, std::string> names(const Json& document, const std::string& what) {
  std::map<std::int64_t, std::string> out;
  for (const Json& e : of_phase(document, "M"))
    if (e.at("name") == what + "_name") out[e.at(what == "process" ? "pid" : "tid")] = e.at("args").at("name");
  return out;
}

std::set<std::string> values(const std::map<std::int64_t, std::string>& map) {
  std::set<std::string> out;
  for (const auto& [number, name] : map) out.insert(name);
  return out;
}

std::int64_t picoseconds(const Json& microseconds) { return std::llround(microseconds.get<double>() * 1e6); }

void expect_nested(const Json& document) {
  std::map<std::int64_t, std::vector<std::pair<std::int64_t, std::int64_t>>> by_thread;
  for (const Json& e : of_phase(document, "X")) {
    const std::int64_t from = picoseconds(e.at("ts"));
    by_thread[e.at("tid")].emplace_back(from, from + picoseconds(e.at("dur")));
  }
  for (auto& [thread, events] : by_thread) {
    std::stable_sort(events.begin(), events.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<std::int64_t> ends;
    for (const auto& [from, until] : events) {
      while (!ends.empty() && ends.back() <= from) ends.pop_back();
      ASSERT_TRUE(ends.empty() || until <= ends.back()) << thread;
      ends.push_back(until);
    }
  }
}

TEST_F(Timeline, HasAProcessForEveryPartAndAThreadForEveryTrack) {
  const Json without = json(simulate()), row = json(simulate({"--timeline", "t.json"}));
  EXPECT_EQ(without, row);
  EXPECT_EQ(files(), (std::set<std::string>{"p.json", "stderr", "stdout", "t.json"}));
  const Json document = timeline();
  EXPECT_THAT(keys_of(document), ElementsAre("displayTimeUnit", "traceEvents", "otherData"));
  EXPECT_EQ(document.at("otherData"), Json::parse(R"({"chip":"v100","clock_hz":1380000000})"));
  const auto processes = names(document, "process"), threads = names(document, "thread");
  EXPECT_EQ(values(processes), (std::set<std::string>{"v100", "SM 0", "SM 1", "SM 2", "SM 3", "l2", "dram"}));
  EXPECT_THAT(values(threads), IsSupersetOf({"kernels", "slot 0", "slot 0 warp 0", "slot 0 warp 3", "partition 0",
                                             "port of smem and l1", "link in", "link out", "slice 0", "channel 0"}));
  EXPECT_EQ(of_phase(document, "M").size(), 2 * (processes.size() + threads.size()));
  expect_nested(document);
  std::set<std::string> on_warps, on_channels, on_slots;
  for (const Json& e : of_phase(document, "X")) {
    ASSERT_TRUE(processes.contains(e.at("pid")) && threads.contains(e.at("tid")));
    const std::string& thread = threads.at(e.at("tid"));
    if (thread.find(" warp ") != std::string::npos) on_warps.insert(e.at("name"));
    if (thread.starts_with("channel")) on_channels.insert(e.at("name"));
    if (thread == "slot 0") on_slots.insert(e.at("name"));
    EXPECT_TRUE(e.at("name") != "read miss" || e.at("args").at("bytes") > 0);
  }
  EXPECT_THAT(on_warps, IsSupersetOf({"issue", "smem", "barrier", "dram"}));
  EXPECT_THAT(on_channels, IsSupersetOf({"read hit", "read miss"}));
  EXPECT_THAT(on_slots, IsSupersetOf({"block 0", "block 3"}));
  std::set<std::string> counters;
  for (const Json& e : of_phase(document, "C")) counters.insert(e.at("name"));
  EXPECT_THAT(counters, IsSupersetOf({"dram read", "resident warps", "outstanding misses"}));
}

TEST_F(Timeline, TheKernelLastsAsLongAsTheReportSays) {
  const Json row = json(simulate({"--timeline", "t.json"})).at("operators").at(0);
  const Json document = timeline();
  const auto threads = names(document, "thread");
  std::vector<Json> kernels;
  for (const Json& e : of_phase(document, "X"))
    if (threads.at(e.at("tid")) == "kernels") kernels.push_back(e);
  ASSERT_EQ(kernels.size(), 2U);
  EXPECT_EQ(kernels[0].at("name"), "compute_C");
  EXPECT_EQ(kernels[1].at("name"), "launch");
  EXPECT_EQ(kernels[0].at("ts"), 0.0);
  EXPECT_NEAR(kernels[0].at("dur").get<double>(), row.at("simulated_us").get<double>(), 1e-6);
}

TEST_F(Timeline, ShowsWhatIsChosen) {
  run(simulate(
      {"--timeline", "t.json", "--timeline-cores", "2,5-6", "--timeline-from", "3 us", "--timeline-until", "4us"}));
  const Json document = timeline();
  EXPECT_THAT(values(names(document, "process")), IsSupersetOf({"SM 2", "SM 5", "SM 6"}));
  EXPECT_FALSE(values(names(document, "process")).contains("SM 0"));
  const auto threads = names(document, "thread");
  for (const Json& e : of_phase(document, "X"))
    if (threads.at(e.at("tid")) != "kernels") {
      EXPECT_LT(e.at("ts"), 4.0);
      EXPECT_GT(e.at("ts").get<double>() + e.at("dur").get<double>(), 3.0);
    }
}

TEST_F(Timeline, SaysWhereItIsFull) {
  const CliResult r = run(simulate({"--timeline", "t.json", "--timeline-events", "1000"}));
  EXPECT_EQ(r.status, 0);
  EXPECT_THAT(r.err, HasSubstr("note: t.json ends at "));
  const Json document = timeline();
  const std::vector<Json> marks = of_phase(document, "i");
  ASSERT_EQ(marks.size(), 1U);
  EXPECT_EQ(marks[0].at("name"), "the timeline ends here: 1000 events");
  EXPECT_LT(of_phase(document, "X").size(), 2000U);
  expect_nested(document);
}

TEST_F(Timeline, ReplacesAFileWholeOrNotAtAll) {
  write("t.json", "old");
  EXPECT_EQ(run(simulate({"--timeline", "t.json"})).status, 0);
  EXPECT_TRUE(timeline().contains("traceEvents"));
  write("t.json", "old");
  const std::string wide = write("wide.json", R"json({"arch":"v100","nodes":[{"expr":"O[i] = relu(I[i])",
    "sizes":{"i":4096},"dtype":"f32","tiles":{"smem":{"i":2048}},"mapping":{"i":{"threads":2048}}}],"edges":[]})json");
  EXPECT_EQ(run({"simulate", "--arch", "v100", "--program", wide, "--timeline", "t.json"}).status, 2);
  EXPECT_EQ(text_of_file(path("t.json")), "old");
  const CliResult nowhere = run(simulate({"--timeline", "nowhere/t.json"}));
  EXPECT_EQ(nowhere.status, 1);
  EXPECT_THAT(nowhere.err, HasSubstr("nowhere/t.json: cannot be written: No such file or directory"));
  EXPECT_EQ(files(), (std::set<std::string>{"p.json", "stderr", "stdout", "t.json", "wide.json"}));
}

TEST_F(Timeline, CanBeDrawn) {
  run(simulate({"--timeline", "t.json"}));
  const std::string draw =
      "cd " + path(".").string() + " && python3 " + source_path("experiments/studies/draw_timeline/run").string();
  EXPECT_EQ(std::system((draw + " t.json -o t.svg --cores 0,3").c_str()), 0);
  const std::string picture = text_of_file(path("t.svg"));
  EXPECT_THAT(picture, AllOf(StartsWith("<svg"), HasSubstr(">SM 3<"), HasSubstr(">block 3<"), EndsWith("</svg>\n")));
  EXPECT_THAT(picture, Not(HasSubstr(">SM 1<")));
  EXPECT_NE(std::system((draw + " t.json -o t.svg --cores 9 2>stderr").c_str()), 0);
  EXPECT_EQ(text_of_file(path("stderr")), "the file does not show core 9, but 0, 1, 2, 3\n");
}

TEST_F(Timeline, SaysWhatIsWrong) {
  const auto refused = [&](const Args& more) { return bad_input(simulate(with({"--timeline", "t.json"}, more))); };
  EXPECT_THAT(bad_input({"simulate", "--arch", "v100", "--suite", "examples", "--timeline", "t.json"}),
              HasSubstr("--timeline: needs one program, from --op or --program; --suite may give many"));
  EXPECT_THAT(bad_input({"simulate", "--arch", "v100", "--batch", write("b.jsonl", ""), "--timeline", "t.json"}),
              HasSubstr("--timeline: needs one program, from --op or --program; --batch may give many"));
  EXPECT_THAT(bad_input(simulate({"--timeline-cores", "0"})), HasSubstr("--timeline-cores requires --timeline"));
  EXPECT_THAT(refused({"--timeline-cores", "0-80"}), HasSubstr("v100 has no core 80; its cores are 0 to 79"));
  EXPECT_THAT(refused({"--timeline-cores", "3-1"}), HasSubstr("expected cores such as 0-3,8 or all, got '3-1'"));
  EXPECT_THAT(refused({"--timeline-from", "soon"}), HasSubstr("--timeline-from: expected a time such as '20 us'"));
  EXPECT_THAT(refused({"--timeline-from", "2us", "--timeline-until", "1us"}),
              HasSubstr("the timeline would end at 1 us, before it begins at 2 us"));
  EXPECT_THAT(refused({"--timeline-events", "0"}), HasSubstr("expected a whole number from 1"));
  EXPECT_FALSE(files().contains("t.json"));
}

}  // namespace
}  // namespace tilescope::tests
