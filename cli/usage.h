// SPDX-License-Identifier: Apache-2.0
#pragma once
// A wrong command line as one sentence: what is wrong, what was expected, did you mean.

#include <string>

#include <CLI/CLI.hpp>

namespace tilescope::cli {

// What to say about an error of parsing: "tilescope compile: unknown option '--sizes'; did you mean '--size'?".
std::string usage_error(const CLI::App& app, const CLI::ParseError& error);

// A whole number from `least` to `most`.
CLI::Validator whole_number(int least, int most);

// Before CLI::AsSizeValue: a whole number of bytes, kilobytes, ..., as in 512MiB.
CLI::Validator whole_size();

// Anything but an empty text.
CLI::Validator some_text();

}  // namespace tilescope::cli
