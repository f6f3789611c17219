// SPDX-License-Identifier: Apache-2.0
// The program that runs emitted kernels on the CPU: REQUEST RESPONSE, both files of host/wire.h. Status 0 with a
// response, or another one and a text on standard error.

#include <cstring>
#include <fstream>
#include <map>
#include <sstream>

#include "backends/cuda/host/machine.h"
#include "backends/cuda/host/place.h"
#include "backends/cuda/host/watch.h"

namespace tilescope::cuda::host {
namespace {

std::map<std::string, const ModuleEntry*>& modules() {
  static std::map<std::string, const ModuleEntry*> all;
  return all;
}

Request read_request(const char* path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  Request r;
  if (!from_wire(text.str(), r)) fail("%s is no request", path);
  return r;
}

void write_response(const char* path, const Response& r) {
  std::ofstream out(path, std::ios::binary);
  const std::string bytes = to_wire(r);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!out.flush()) fail("cannot write %s", path);
}

Response run(const Request& request) {
  const auto found = modules().find(request.key);
  if (found == modules().end()) fail("no module %s", request.key.c_str());
  const std::vector<void*> globals = watch::allocate(request);
  for (std::size_t g = 0; g < globals.size(); ++g) {
    const std::string& bytes = request.globals[g].bytes;
    std::memcpy(globals[g], bytes.data(), bytes.size());
  }
  Random random(request.seed);
  const ModuleEntry& module = *found->second;
  for (int k = 0; k < module.kernels; ++k)
    run_kernel(module.kernel[k], static_cast<int>(request.rules.warp), globals, request.scalars, random);
  Response out;
  out.counters = watch::finish();
  for (std::size_t g = 0; g < globals.size(); ++g)
    out.globals.emplace_back(static_cast<const char*>(globals[g]), request.globals[g].bytes.size());
  return out;
}

}  // namespace

Registration::Registration(const ModuleEntry& module) { modules().emplace(module.key, &module); }

}  // namespace tilescope::cuda::host

// Whatever was allocated lives until the end; a kernel's stack is left by jumps.
extern "C" const char* __asan_default_options() { return "detect_leaks=0:detect_stack_use_after_return=0"; }  // NOLINT

int main(int argc, char** argv) {
  using namespace tilescope::cuda::host;
  if (argc != 3) fail("usage: %s REQUEST RESPONSE", argc > 0 ? argv[0] : "runner");
  write_response(argv[2], run(read_request(argv[1])));
  return 0;
}
