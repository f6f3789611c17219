// SPDX-License-Identifier: Apache-2.0
#pragma once
// A thread that looks at long work from time to time; for the .cc files of experiments/ alone.

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>

namespace tilescope::experiments {

class Ticker {
 public:
  // Calls `tick` after every `period` until this object is destroyed, which waits for a call that has begun. `tick`
  // does not throw.
  Ticker(std::chrono::milliseconds period, std::function<void()> tick)
      : thread_([period, tick = std::move(tick)](const std::stop_token& ended) {
          std::mutex mutex;
          std::condition_variable_any never;
          std::unique_lock lock(mutex);
          while (!never.wait_for(lock, ended, period, [&] { return ended.stop_requested(); })) tick();
        }) {}

 private:
  std::jthread thread_;
};

}  // namespace tilescope::experiments
