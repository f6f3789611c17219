// SPDX-License-Identifier: Apache-2.0
#include "sim/gpu/detail/event_loop.h"

#include <algorithm>
#include <deque>
#include <string>
#include <systemc>

#include "sim/detail/simulation_context.h"

namespace tilescope::sim {
namespace {

// What cores and the rest tell each other.
struct Shared {
  Gpu& gpu;
  std::vector<int> ran;  // cores that did something at this instant
  sc_core::sc_event settle;
};

class CoreModule : public sc_core::sc_module {
 public:
  CoreModule(const sc_core::sc_module_name& name, Shared& shared, int number)
      : sc_module(name), shared_(shared), number_(number) {
    SC_HAS_PROCESS(CoreModule);
    SC_METHOD(run);
    sensitive << due_;
    dont_initialize();
  }

  // In the turn in which it is next due, but not in the one that is being settled. An earlier time replaces a later
  // one; SystemC drops the later one itself.
  void notify() {
    const Gpu& gpu = shared_.gpu;
    if (const auto next = shared_.gpu.core(number_).next())
      due_.notify(until(std::max(gpu.turn_of(*next), cycle_now() + gpu.turn())));
  }

 private:
  void run() {
    shared_.gpu.core(number_).run(cycle_now() + shared_.gpu.turn());
    shared_.ran.push_back(number_);
    shared_.settle.notify(sc_core::SC_ZERO_TIME);
  }

  Shared& shared_;
  int number_;
  sc_core::sc_event due_;
};

class DeviceModule : public sc_core::sc_module {
 public:
  DeviceModule(const sc_core::sc_module_name& name, Shared& shared, std::deque<CoreModule>& cores)
      : sc_module(name), shared_(shared), cores_(cores) {
    SC_HAS_PROCESS(DeviceModule);
    SC_METHOD(settle);
    sensitive << shared.settle;
    dont_initialize();
    SC_METHOD(due);
    sensitive << memory_;
    dont_initialize();
  }

 private:
  // Cores may run at the same instant, in any order: what they did is settled after all of them.
  void due() { shared_.settle.notify(sc_core::SC_ZERO_TIME); }

  void settle() {
    const Gpu& gpu = shared_.gpu;
    shared_.gpu.settle(cycle_now() + gpu.turn(), shared_.ran);
    for (const int c : shared_.ran) cores_[static_cast<std::size_t>(c)].notify();
    shared_.ran.clear();
    if (const auto next = gpu.memory_next())
      memory_.notify(until(std::max(gpu.turn_of(*next), cycle_now() + gpu.turn())));
  }

  Shared& shared_;
  std::deque<CoreModule>& cores_;
  sc_core::sc_event memory_;
};

}  // namespace

struct EventLoop::Modules {
  SimulationContext context;
  Shared shared;
  std::deque<CoreModule> cores;
  DeviceModule device;

  explicit Modules(Gpu& gpu) : shared{gpu, {}, {}}, device("device", shared, cores) {
    for (int c = 0; c < gpu.cores(); ++c) cores.emplace_back(("core" + std::to_string(c)).c_str(), shared, c);
  }
  // The last one first: SystemC looks for what ends in a list that begins with what came last.
  ~Modules() {
    while (!cores.empty()) cores.pop_back();
  }
};

EventLoop::EventLoop(Gpu& gpu) : modules_(std::make_unique<Modules>(gpu)) {}
EventLoop::~EventLoop() = default;

// The first settlement, at this instant, ends a turn.
Cycle EventLoop::now() const { return cycle_now() + modules_->shared.gpu.turn(); }

void EventLoop::run() {
  modules_->shared.settle.notify(sc_core::SC_ZERO_TIME);
  run_to_rest();
}

}  // namespace tilescope::sim
