// SPDX-License-Identifier: Apache-2.0
#include "sim/memory/dram_plugin.h"

#include <array>
#include <cctype>
#include <dlfcn.h>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "include/tilescope/dram_plugin.h"
#include "sim/common/report.h"

namespace tilescope::sim {
namespace {

class Library {
 public:
  explicit Library(const PluginConfig& config) : config_(config), handle_(::dlopen(config.path.c_str(), RTLD_NOW)) {
    if (handle_ == nullptr) refuse(fmt::format("cannot be loaded: {}", ::dlerror()));
  }
  ~Library() {
    if (handle_ != nullptr) ::dlclose(handle_);
  }
  Library(Library&& other) noexcept : config_(other.config_), handle_(std::exchange(other.handle_, nullptr)) {}
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  Library& operator=(Library&&) = delete;

  template <class Symbol>
  Symbol* find(const char* name) const {
    void* const found = ::dlsym(handle_, name);
    if (found == nullptr) refuse(fmt::format("'{}' lacks the symbol {}", config_.path, name));
    return reinterpret_cast<Symbol*>(found);
  }
  [[noreturn]] void refuse(std::string_view what) const { throw SimError(fmt::format("{}: {}", config_.place, what)); }
  const PluginConfig& config() const { return config_; }

 private:
  PluginConfig config_;
  void* handle_;
};

class Plugin final : public ForeignMemory<Clock> {
 public:
  explicit Plugin(Library library)
      : library_(std::move(library)),
        request_(library_.find<decltype(tilescope_dram_request)>("tilescope_dram_request")),
        advance_(library_.find<decltype(tilescope_dram_advance)>("tilescope_dram_advance")),
        destroy_(library_.find<decltype(tilescope_dram_destroy)>("tilescope_dram_destroy")) {
    auto* const create = library_.find<decltype(tilescope_dram_create)>("tilescope_dram_create");
    const PluginConfig& c = library_.config();
    const tilescope_dram_config config{c.chip.c_str(), c.clock_hz, c.channels, c.burst_bytes, c.line_bytes, c.capacity};
    std::array<char, 512> error{};
    memory_ = create(&config, error.data(), error.size() - 1);
    if (memory_ != nullptr) return;
    std::string why = error.data();
    while (!why.empty() && std::isspace(static_cast<unsigned char>(why.back())) != 0) why.pop_back();
    library_.refuse(fmt::format("'{}' makes no memory: {}", c.path, why.empty() ? "it does not say why" : why));
  }
  ~Plugin() override {
    if (memory_ != nullptr) destroy_(memory_);
  }
  Plugin(const Plugin&) = delete;
  Plugin& operator=(const Plugin&) = delete;

  void request(std::span<const ForeignRequest<Clock>> requests) override {
    requests_.clear();
    for (const ForeignRequest<Clock>& r : requests)
      requests_.push_back({r.id, static_cast<std::uint64_t>(r.address), static_cast<std::uint32_t>(r.bytes),
                           static_cast<std::uint8_t>(r.write), static_cast<std::uint8_t>(r.partial),
                           r.arrival.count()});
    request_(memory_, requests_.data(), requests_.size());
  }

  // One more than can be right, so that an answer that comes twice is seen.
  void advance(Clock until, std::size_t open, std::vector<ForeignAnswer<Clock>>& answers) override {
    answers_.resize(open + 1);
    const std::size_t count = advance_(memory_, until.count(), answers_.data(), answers_.size());
    if (count > answers_.size())
      library_.refuse(fmt::format("says that it gave {} answers where there was room for {}", count, answers_.size()));
    for (std::size_t i = 0; i < count; ++i)
      answers.push_back({answers_[i].id, Clock(answers_[i].done), answers_[i].row_hit != 0});
  }

 private:
  Library library_;
  decltype(tilescope_dram_request)* request_;
  decltype(tilescope_dram_advance)* advance_;
  decltype(tilescope_dram_destroy)* destroy_;
  void* memory_ = nullptr;
  std::vector<tilescope_dram_request_t> requests_;
  std::vector<tilescope_dram_answer_t> answers_;
};

}  // namespace

std::unique_ptr<ForeignMemory<Clock>> load_dram_plugin(const PluginConfig& config) {
  Library library(config);
  if (const auto version = *library.find<const std::uint32_t>("tilescope_dram_version");
      version != TILESCOPE_DRAM_VERSION)
    library.refuse(fmt::format("'{}' is of version {} of the interface; expected {}", config.path, version,
                               TILESCOPE_DRAM_VERSION));
  return std::make_unique<Plugin>(std::move(library));
}

}  // namespace tilescope::sim
