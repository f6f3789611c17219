// SPDX-License-Identifier: Apache-2.0
#include "sim/gpu/detail/event_loop.h"

#include <algorithm>
#include <deque>
#include <stdexcept>
#include <string>
#include <string_view>
#include <systemc>

// libsystemc needs it to link; no code calls it, simulations begin with sc_start.
int sc_main(int, char**) { return 0; }

namespace tilescope::sim {
namespace {

// One unit of SystemC's time is one core cycle. Everything happens at the beginnings of turns.
Cycle cycle_now() { return static_cast<Cycle>(sc_core::sc_time_stamp().value()); }

sc_core::sc_time until(Cycle at) {
  const Cycle now = cycle_now();
  return sc_core::sc_time::from_value(static_cast<sc_dt::uint64>(at > now ? at - now : 0));
}

// A simulation context of its own for each run, so that a process can hold any number of them, one after the other.
class Scope {
 public:
  Scope() : current_(sc_core::sc_get_curr_simcontext()), usual_(sc_core::sc_default_global_context) {
    own_ = new sc_core::sc_simcontext;
    sc_core::sc_curr_simcontext = sc_core::sc_default_global_context = own_;
  }
  ~Scope() {
    delete own_;
    sc_core::sc_curr_simcontext = current_;
    sc_core::sc_default_global_context = usual_;
  }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 private:
  sc_core::sc_simcontext *current_, *usual_, *own_;
};

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
  Scope scope;
  Shared shared;
  std::deque<CoreModule> cores;
  DeviceModule device;

  explicit Modules(Gpu& gpu) : shared{gpu, {}, {}}, device("device", shared, cores) {
    for (int c = 0; c < gpu.cores(); ++c) cores.emplace_back(("core" + std::to_string(c)).c_str(), shared, c);
  }
};

EventLoop::EventLoop(Gpu& gpu) : modules_(std::make_unique<Modules>(gpu)) {}
EventLoop::~EventLoop() = default;

// The first settlement, at this instant, ends a turn.
Cycle EventLoop::now() const { return cycle_now() + modules_->shared.gpu.turn(); }

void EventLoop::run() {
  modules_->shared.settle.notify(sc_core::SC_ZERO_TIME);
  try {
    sc_core::sc_start();
  } catch (const sc_core::sc_report& report) {
    // What one of our processes throws, a timeline that cannot be written among it, SystemC hands on within a report of
    // its own; our sentence is all that says something.
    if (std::string_view(report.get_msg_type()) != sc_core::SC_ID_SIMULATION_UNCAUGHT_EXCEPTION_) throw;
    throw std::runtime_error(report.get_msg());
  }
}

}  // namespace tilescope::sim
