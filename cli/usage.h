// SPDX-License-Identifier: Apache-2.0
#pragma once
// Messages about a wrong command line, in one sentence: what is wrong, what was expected, did you mean.

#include <string>

#include <CLI/CLI.hpp>

namespace tilescope::cli {

// The message for a parse error: "tilescope compile: unknown option '--sizes'; did you mean '--size'?".
std::string usage_error(const CLI::App& app, const CLI::ParseError& error);

// Accepts a whole number from `least` to `most`.
CLI::Validator whole_number(int least, int most);

// Accepts a whole number of bytes, kilobytes, ..., as in 512MiB; for use before CLI::AsSizeValue.
CLI::Validator whole_size();

// Accepts any text that is not empty.
CLI::Validator some_text();

}  // namespace tilescope::cli
