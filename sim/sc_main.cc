// SPDX-License-Identifier: Apache-2.0
#include <systemc>

// libsystemc needs one to link. Programs without one of their own, ours among them, take this; none of them calls it,
// as simulations begin with sc_start.
[[gnu::visibility("default")]] int sc_main(int, char**) { return 0; }
