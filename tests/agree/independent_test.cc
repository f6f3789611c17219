// SPDX-License-Identifier: Apache-2.0
// The simulator is independent: of the model, of what was calibrated, and of how many workers there are.

#include <array>
#include <cstdio>
#include <string>

#include <gtest/gtest.h>

#include "tests/cli/run_cli.h"

namespace tilescope::tests {
namespace {

class Independent : public Cli {
 protected:
  // Programs of three kinds, one of them with edges, as files of the folder.
  std::vector<std::string> programs() {
    const std::vector<std::pair<std::string, std::string>> ops = {
        {kMatmul, "m=512,n=384,k=256"},
        {"O[i,j] = relu(I[i,j])", "i=2000,j=511"},
        {"O[n,f,y,x] +=! I[n,c,y+r-1,x+s-1] * W[f,c,r,s]", "n=4,f=32,y=14,x=14,c=16,r=3,s=3"}};
    std::vector<std::string> out;
    for (const auto& [op, sizes] : ops) {
      const std::string folder = "p" + std::to_string(out.size());
      const CliResult r = run({"compile", "--arch", "v100", "--op", op, "--size", sizes, "--top", "1", "-o", folder});
      EXPECT_EQ(r.status, 0) << r.err;
      out.push_back(folder + "/op.0.json");
    }
    return out;
  }

  std::int64_t cycles(const Args& args) const {
    return json_of_noted(with({"simulate"}, args)).at("operators").at(0).at("cycles").get<std::int64_t>();
  }

  // What simulate_alone prints.
  std::int64_t cycles_alone(const std::string& chip, const std::string& program, const std::string& mode) const {
    const std::string command =
        std::string(TILESCOPE_SIMULATE_ALONE) + " " + chip + " " + path(program).string() + " " + mode;
    FILE* out = popen(command.c_str(), "r");
    std::array<char, 64> line{};
    const bool read = std::fgets(line.data(), line.size(), out) != nullptr;
    EXPECT_EQ(pclose(out), 0) << command;
    return read ? std::stoll(line.data()) : -1;
  }

  // A device's file without two of its sections.
  static std::string without_calibration(const std::string& device) {
    std::string text = text_of_file(source_path("arch/devices/" + device + ".yaml"));
    text.resize(text.find("\ncalibration:") + 1);
    EXPECT_EQ(text.find("baselines:"), std::string::npos);
    return text;
  }
};

TEST_F(Independent, ABinaryWithoutTheModelPrintsTheSameCycles) {
  for (const std::string& p : programs())
    for (const std::string mode : {"full", "sampled"})
      EXPECT_EQ(cycles({"--arch", "v100", "--program", p, "--mode", mode}), cycles_alone("v100", p, mode)) << p << mode;
}

TEST_F(Independent, CalibrationAndBaselinesAreNotRead) {
  const std::string chip = write("plain.yaml", without_calibration("v100"));
  for (const std::string& p : programs())
    EXPECT_EQ(cycles({"--arch", "v100", "--program", p}), cycles({"--arch", chip, "--program", p})) << p;
}

TEST_F(Independent, TheNumberOfWorkersChangesNothing) {
  std::string lines;
  for (const std::string& p : programs()) {
    Json stage = Json::parse(text_of_file(path(p))).at("nodes").at(0);
    stage["id"] = p;
    lines += stage.dump() + '\n';
  }
  const Args batch = {"simulate", "--arch", "v100", "--batch", write("batch.jsonl", lines)};
  EXPECT_EQ(json_of_noted(with(batch, {"--jobs", "1"})), json_of_noted(with(batch, {"--jobs", "3"})));
}

}  // namespace
}  // namespace tilescope::tests
