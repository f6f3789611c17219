// SPDX-License-Identifier: Apache-2.0
#pragma once
// A timeline as a file in the Chrome trace event format, which ui.perfetto.dev and chrome://tracing open: a process for
// the kernels, each core, the device's cache and the DRAM, a thread for each of their tracks, complete events in
// microseconds of the chip's time, counters. For the .cc files of experiments/.

#include <map>
#include <set>
#include <string>

#include "api/common/new_file.h"
#include "api/simulate/timeline.h"
#include "arch/spec.h"
#include "sim/timeline.h"

namespace tilescope::api {

class TimelineFile : public sim::TimelineSink {
 public:
  // Throws std::runtime_error where the file cannot be written, here or later.
  TimelineFile(const TimelineRequest& request, const arch::ArchSpec& a);

  sim::TimelineOptions options() const;
  void event(const sim::TimelineEvent& e) override;
  void sample(const sim::TimelineSample& s) override;
  // The file is there. Returns where the timeline ends before the program does, in microseconds.
  std::optional<double> finish(const sim::Timeline& timeline);

 private:
  struct Place {
    std::int64_t process = 0, thread = 0;
  };
  // The track's process and thread, named when they are first asked for.
  Place place_of(const sim::Track& track);
  void write(const std::string& event);
  void name(const Place& place, const char* what, const std::string& name, std::int64_t order);
  std::int64_t picoseconds(double cycles) const;

  const TimelineRequest& request_;
  const arch::ArchSpec& arch_;
  NewFile file_;
  std::map<sim::Track, Place> places_;
  std::set<std::int64_t> processes_;
  bool first_ = true;
};

}  // namespace tilescope::api
