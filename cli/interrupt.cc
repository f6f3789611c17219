// SPDX-License-Identifier: Apache-2.0
#include "cli/interrupt.h"

#include <chrono>
#include <csignal>
#include <cstdio>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "cli/command.h"

namespace tilescope::cli {
namespace {

volatile std::sig_atomic_t signalled = 0;

}  // namespace

void end_in_good_order() {
  struct sigaction action{};
  action.sa_handler = [](int) { signalled = 1; };
  action.sa_flags = SA_RESETHAND;
  for (const int signal : {SIGINT, SIGTERM}) sigaction(signal, &action, nullptr);
}

bool interrupted() { return signalled != 0; }

void end_at_once() {
  std::fflush(stdout);
  std::fflush(stderr);
  _exit(kFailed);
}

EndsWhilePlanned::EndsWhilePlanned(std::string sentence)
    : thread_([this, sentence = std::move(sentence)](const std::stop_token& ended) {
        using namespace std::chrono_literals;
        constexpr auto kLook = 50ms, kGrace = 1000ms;
        auto waited = 0ms;
        while (!ended.stop_requested() && !planned_) {
          std::this_thread::sleep_for(kLook);
          if (interrupted()) waited += kLook;
          if (waited < kGrace || ended.stop_requested() || planned_) continue;
          fmt::print(stderr, "{}\n", sentence);
          end_at_once();
        }
      }) {}

}  // namespace tilescope::cli
