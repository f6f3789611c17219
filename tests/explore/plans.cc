// SPDX-License-Identifier: Apache-2.0
// Plans beside the whole of a space that is known: explore_plans SEEDS EVALUATIONS... < TABLE
//
// The table's first lines are the sizes of the axes and whether each is ordered (1) or a choice (0); then a line a
// design: its index along each axis, its violation, its objectives (none where it is infeasible). Prints a line of JSON
// for each plan: its shares of the hypervolume of the whole front, one a seed, and how many designs it judged. The
// reference of the hypervolume is a tenth of the front's range beyond its worst values. NSGA-II's first seed also
// prints the designs that it judged.

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <memory>
#include <numeric>
#include <random>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "experiments/explore/hypervolume.h"
#include "experiments/explore/plan.h"

namespace {

using namespace tilescope::experiments;

struct Table {
  DesignSpace space;
  std::vector<Merit> merits;
};

template <class T>
std::vector<T> numbers_of(const std::string& line) {
  std::istringstream in(line);
  std::vector<T> out;
  for (T value; in >> value;) out.push_back(value);
  return out;
}

Table read(std::istream& in) {
  Table out;
  std::string line;
  std::getline(in, line);
  out.space.sizes = numbers_of<std::size_t>(line);
  std::getline(in, line);
  for (const int ordered : numbers_of<int>(line)) out.space.ordered.push_back(ordered != 0);
  while (std::getline(in, line)) {
    const std::vector<double> values = numbers_of<double>(line);
    DesignIndex index;
    for (std::size_t a = 0; a < out.space.sizes.size(); ++a) index.push_back(static_cast<std::size_t>(values.at(a)));
    Merit merit{{}, values.at(index.size())};
    merit.objectives.assign(values.begin() + static_cast<std::ptrdiff_t>(index.size()) + 1, values.end());
    out.space.designs.push_back(std::move(index));
    out.merits.push_back(std::move(merit));
  }
  return out;
}

class Judge {
 public:
  explicit Judge(const Table& table) : table_(table) {
    std::vector<double> least;
    for (const std::size_t i : front_of(table.merits)) {
      const std::vector<double>& o = table.merits[i].objectives;
      if (least.empty()) least = reference_ = o;
      for (std::size_t k = 0; k < o.size(); ++k) {
        least[k] = std::min(least[k], o[k]);
        reference_[k] = std::max(reference_[k], o[k]);
      }
    }
    for (std::size_t k = 0; k < least.size(); ++k) reference_[k] += 0.1 * (reference_[k] - least[k]);
    std::vector<std::size_t> all(table.merits.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    whole_ = volume(all);
  }

  double share(const std::vector<std::size_t>& designs) const { return volume(designs) / whole_; }

  std::vector<std::size_t> follow(Plan& plan) const {
    std::vector<std::size_t> out;
    std::vector<Merit> merits;
    for (auto chosen = plan.next(merits); !chosen.empty(); chosen = plan.next(merits)) {
      merits.clear();
      for (const std::size_t d : chosen) {
        merits.push_back(table_.merits[d]);
        out.push_back(d);
      }
    }
    return out;
  }

 private:
  double volume(const std::vector<std::size_t>& designs) const {
    std::vector<Merit> merits;
    for (const std::size_t d : designs) merits.push_back(table_.merits[d]);
    std::vector<std::vector<double>> points;
    for (const std::size_t i : front_of(merits)) points.push_back(merits[i].objectives);
    return hypervolume(std::move(points), reference_);
  }

  const Table& table_;
  std::vector<double> reference_;
  double whole_ = 0;
};

void print(const char* plan, std::size_t evaluations, const std::vector<double>& shares, const std::string& more = {}) {
  fmt::print("{{\"plan\": \"{}\", \"evaluations\": {}, \"shares\": [{}]{}}}\n", plan, evaluations,
             fmt::join(shares, ", "), more);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "usage: explore_plans SEEDS EVALUATIONS... < TABLE\n");
    return EXIT_FAILURE;
  }
  const Table table = read(std::cin);
  const Judge judge(table);
  const std::int64_t seeds = std::strtol(argv[1], nullptr, 10);
  for (int i = 2; i < argc; ++i) {
    const std::size_t evaluations = std::strtoul(argv[i], nullptr, 10);
    std::vector<double> planned, random;
    std::string judged;
    for (std::int64_t seed = 1; seed <= seeds; ++seed) {
      Nsga2Options options;
      options.evaluations = evaluations;
      options.seed = seed;
      const std::vector<std::size_t> designs = judge.follow(*nsga2(table.space, options));
      if (seed == 1) judged = fmt::format(", \"first\": [{}]", fmt::join(designs, ", "));
      planned.push_back(judge.share(designs));
      std::vector<std::size_t> some(table.merits.size());
      std::iota(some.begin(), some.end(), std::size_t{0});
      std::shuffle(some.begin(), some.end(), std::mt19937_64(static_cast<std::uint64_t>(seed)));
      some.resize(evaluations);
      random.push_back(judge.share(some));
    }
    print("nsga2", evaluations, planned, judged);
    print("random", evaluations, random);
  }
  const std::vector<std::size_t> refined = judge.follow(*refine(table.space));
  print("refine", refined.size(), {judge.share(refined)});
  return EXIT_SUCCESS;
}
