// SPDX-License-Identifier: Apache-2.0
#pragma once
// A picture of a network: its nodes in layers from top to bottom, equal runs of nodes once.

#include <string>

#include "api/network/drawing.h"
#include "experiments/common/svg.h"

namespace tilescope::cli {

experiments::Svg picture_of(const std::string& title, const api::NetworkDrawing& network);

}  // namespace tilescope::cli
