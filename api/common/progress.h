// SPDX-License-Identifier: Apache-2.0
#pragma once
// Callback with which long work reports its progress.

#include <cstddef>
#include <functional>

namespace tilescope::api {

using Progress = std::function<void(std::size_t done, std::size_t all)>;

}  // namespace tilescope::api
