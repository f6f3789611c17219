// SPDX-License-Identifier: Apache-2.0
#include "lower/simt/transfer/detail/lowering.h"

#include <algorithm>

#include "lower/simt/transfer/detail/cp_async.h"
#include "lower/simt/transfer/detail/per_thread.h"
#include "lower/simt/transfer/detail/tma.h"
#include "tile/transfer/transfer.h"

namespace tilescope::lower {
namespace {

std::unique_ptr<TransferLowering> made(const tile::PerThread&, Stage& s, MicroKernelLowering& products, std::size_t i) {
  return std::make_unique<PerThreadLowering>(s, products, i);
}
std::unique_ptr<TransferLowering> made(const tile::CpAsync&, Stage& s, MicroKernelLowering& products, std::size_t i) {
  return std::make_unique<CpAsyncLowering>(s, products, i);
}
std::unique_ptr<TransferLowering> made(const tile::Tma&, Stage& s, MicroKernelLowering& products, std::size_t i) {
  return std::make_unique<TmaLowering>(s, products, i);
}

}  // namespace

Body TransferLowering::start(const StepPosition& /*at*/, const Affine& /*ring_stage*/) { return {}; }
Body TransferLowering::load(const StepPosition& /*at*/) { return {}; }
Body TransferLowering::keep(const Affine& /*ring_stage*/) { return {}; }
Body TransferLowering::copy(const StepPosition& /*at*/, const Affine& /*ring_stage*/) { return {}; }

Transfers::Transfers(Stage& stage, MicroKernelLowering& products) {
  for (std::size_t i = 0; i < stage.space().inputs.size(); ++i) {
    if (!stage.p.operands[i].cached) continue;
    const tile::Transfer entry = tile::transfer_of(stage.p, i, stage.chip.core);
    auto& to = stage.p.operands[i].once ? once_ : each_;
    to.push_back(std::visit([&](const auto& of) { return made(of, stage, products, i); }, entry));
    to.back()->add_tile();
  }
}

Body Transfers::start(const StepPosition& at, const Affine& ring_stage) {
  Body body;
  for (const auto& t : each_) body = with(std::move(body), t->start(at, ring_stage));
  return body;
}

Body Transfers::load(const StepPosition& at) {
  Body body;
  for (const auto& t : each_) body = with(std::move(body), t->load(at));
  return body;
}

Body Transfers::keep(const Affine& ring_stage) {
  Body body;
  for (const auto& t : each_) body = with(std::move(body), t->keep(ring_stage));
  return body;
}

Body Transfers::copy(const StepPosition& at, const Affine& ring_stage) {
  Body body;
  for (const auto& t : each_) body = with(std::move(body), t->copy(at, ring_stage));
  return body;
}

Body Transfers::copy_once(const StepPosition& at) {
  Body body;
  for (const auto& t : once_) {
    body = with(std::move(body), t->start(at, constant(0)));
    body = with(std::move(body), t->copy(at, constant(0)));
  }
  return body;
}

bool Transfers::any_asynchronous() const {
  const auto asynchronous = [](const auto& t) { return t->asynchronous(); };
  return std::any_of(each_.begin(), each_.end(), asynchronous) || std::any_of(once_.begin(), once_.end(), asynchronous);
}

bool Transfers::in_one_batch() const {
  return std::all_of(each_.begin(), each_.end(), [](const auto& t) { return t->in_one_batch(); });
}

}  // namespace tilescope::lower
