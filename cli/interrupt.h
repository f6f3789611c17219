// SPDX-License-Identifier: Apache-2.0
#pragma once
// Ctrl-C and SIGTERM in long work: what is finished is kept, and the end comes within two seconds.

#include <atomic>
#include <string>
#include <thread>

namespace tilescope::cli {

// From here on the first Ctrl-C, or the first SIGTERM of a batch system, is noted, and the second one ends at once.
void end_in_good_order();
// Whether there was one.
bool interrupted();

// Ends this process with the status kFailed: flushes what is printed, and waits for no thread.
[[noreturn]] void end_at_once();

// While work is planned and nothing is kept: a signal that planning does not heed within a second ends the process,
// with a sentence on stderr.
class EndsWhilePlanned {
 public:
  explicit EndsWhilePlanned(std::string sentence);
  // The plan is made; the work heeds signals.
  void planned() { planned_ = true; }

 private:
  std::atomic<bool> planned_ = false;
  std::jthread thread_;  // the last member: it ends first
};

}  // namespace tilescope::cli
