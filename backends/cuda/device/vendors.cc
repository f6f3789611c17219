// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/device/vendors.h"

#include <algorithm>
#include <optional>
#include <string>

namespace tilescope::cuda::device {
namespace {

constexpr int kUnknown = -1;

void succeed(int code, const char* function) {
  if (code != 0) throw DeviceError(std::string(function) + ": status " + std::to_string(code));
}

void need(const Library& library) {
  if (!library.ok()) throw DeviceError("no baseline: " + library.why_unsupported());
}

template <class Function>
void need(const Library& library, const char* name, Function*& function) {
  if (!library.find(name, function)) throw DeviceError(library.path() + " lacks " + name);
}

// The numbers of a type in cuBLAS and in cuDNN, of which the latter convolves floats of 16 and 32 bits alone.
struct TypeNumbers {
  int product = kUnknown, convolution = kUnknown;
};
TypeNumbers type_numbers(base::Dtype dtype) {
  switch (dtype) {
    case base::Dtype::kF32:
    case base::Dtype::kTf32:
      return {0, 0};
    case base::Dtype::kF16:
      return {2, 2};
    case base::Dtype::kBf16:
      return {14, 9};
    case base::Dtype::kI8:
      return {3, kUnknown};
    case base::Dtype::kU8:
      return {8, kUnknown};
    case base::Dtype::kI32:
      return {10, kUnknown};
    case base::Dtype::kF64:
      return {1, kUnknown};
    case base::Dtype::kF8E4M3:
    case base::Dtype::kF8E5M2:
    case base::Dtype::kF8E4M3Fnuz:
    case base::Dtype::kF8E5M2Fnuz:
      return {};
  }
  return {};
}

void* pointer(const DeviceMemory& m) { return reinterpret_cast<void*>(m.address()); }

}  // namespace

// --- products: cuBLAS

struct Vendors::Products {
  Library library{{"libcublas.so.13", "libcublas.so.12", "libcublas.so.11"}};
  void* handle = nullptr;
  int (*one)(void*, int, int, int, int, int, const void*, const void*, int, int, const void*, int, int, const void*,
             void*, int, int, int, int) = nullptr;
  int (*many)(void*, int, int, int, int, int, const void*, const void*, int, int, long long, const void*, int, int,
              long long, const void*, void*, int, int, long long, int, int, int) = nullptr;

  Products() {
    need(library);
    int (*create)(void**) = nullptr;
    need(library, "cublasCreate_v2", create);
    need(library, "cublasGemmEx", one);
    need(library, "cublasGemmStridedBatchedEx", many);
    succeed(create(&handle), "cublasCreate");
  }
};

std::function<void()> Vendors::prepared(const Product& p, const Task& task, const std::vector<DeviceMemory>& memory) {
  if (!products_) products_ = std::make_unique<Products>();
  constexpr int kAsItLies = 0, kSumInF32 = 68, kSumInF64 = 70, kSumInI32 = 72, kOfTf32 = 77, kUsual = -1;
  const int type = type_numbers(task.arrays[p.a].dtype).product,
            sum_type = type_numbers(task.arrays[p.c].dtype).product;
  if (type == kUnknown || sum_type == kUnknown)
    throw DeviceError("no baseline: cuBLAS multiplies 8-bit floats by another interface (cublasLtMatmul)");
  const bool integers = base::is_integer(task.arrays[p.a].dtype);
  const bool of_f64 = task.arrays[p.a].dtype == base::Dtype::kF64;
  const bool of_tf32 = task.arrays[p.a].dtype == base::Dtype::kTf32;
  const auto m = static_cast<int>(p.m), n = static_cast<int>(p.n), k = static_cast<int>(p.k);
  // The library counts columns first: it computes the transposed product of the transposed operands.
  return [=, this, a = pointer(memory[p.a]), b = pointer(memory[p.b]), c = pointer(memory[p.c])] {
    constexpr float kOne = 1, kZero = 0;
    constexpr int kWholeOne = 1, kWholeZero = 0;
    constexpr double kWideOne = 1, kWideZero = 0;
    const auto one_of = [&](const void* whole, const void* wide, const void* usual) {
      return integers ? whole : of_f64 ? wide : usual;
    };
    const void* alpha = one_of(&kWholeOne, &kWideOne, &kOne);
    const void* beta = one_of(&kWholeZero, &kWideZero, &kZero);
    const int sum = integers ? kSumInI32 : of_f64 ? kSumInF64 : of_tf32 ? kOfTf32 : kSumInF32;
    if (p.batch == 1)
      succeed(products_->one(products_->handle, kAsItLies, kAsItLies, n, m, k, alpha, b, type, n, a, type, k, beta, c,
                             sum_type, n, sum, kUsual),
              "cublasGemmEx");
    else
      succeed(products_->many(products_->handle, kAsItLies, kAsItLies, n, m, k, alpha, b, type, n, p.k * p.n, a, type,
                              k, p.m * p.k, beta, c, sum_type, n, p.m * p.n, static_cast<int>(p.batch), sum, kUsual),
              "cublasGemmStridedBatchedEx");
  };
}

// --- convolutions: cuDNN

struct Vendors::Convolutions {
  struct Found {
    int algorithm, status;
    float ms;
    std::size_t bytes;
    int determinism, math, unused[3];
  };

  Library library{{"libcudnn.so.9", "libcudnn.so.8"}};
  void* handle = nullptr;
  int (*create_tensor)(void**) = nullptr;
  int (*set_tensor)(void*, int, int, int, int, int, int) = nullptr;
  int (*create_filter)(void**) = nullptr;
  int (*set_filter)(void*, int, int, int, int, int, int) = nullptr;
  int (*create)(void**) = nullptr;
  int (*set)(void*, int, int, int, int, int, int, int, int) = nullptr;
  int (*set_groups)(void*, int) = nullptr;
  int (*set_math)(void*, int) = nullptr;
  int (*find)(void*, void*, void*, void*, void*, int, int*, Found*) = nullptr;
  int (*workspace)(void*, void*, void*, void*, void*, int, std::size_t*) = nullptr;
  int (*forward)(void*, const void*, void*, const void*, void*, const void*, void*, int, void*, std::size_t,
                 const void*, void*, void*) = nullptr;
  int (*destroy_tensor)(void*) = nullptr;
  int (*destroy_filter)(void*) = nullptr;
  int (*destroy)(void*) = nullptr;

  Convolutions() {
    need(library);
    int (*open)(void**) = nullptr;
    need(library, "cudnnCreate", open);
    need(library, "cudnnCreateTensorDescriptor", create_tensor);
    need(library, "cudnnSetTensor4dDescriptor", set_tensor);
    need(library, "cudnnCreateFilterDescriptor", create_filter);
    need(library, "cudnnSetFilter4dDescriptor", set_filter);
    need(library, "cudnnCreateConvolutionDescriptor", create);
    need(library, "cudnnSetConvolution2dDescriptor", set);
    need(library, "cudnnSetConvolutionGroupCount", set_groups);
    need(library, "cudnnSetConvolutionMathType", set_math);
    need(library, "cudnnFindConvolutionForwardAlgorithm", find);
    need(library, "cudnnGetConvolutionForwardWorkspaceSize", workspace);
    need(library, "cudnnConvolutionForward", forward);
    need(library, "cudnnDestroyTensorDescriptor", destroy_tensor);
    need(library, "cudnnDestroyFilterDescriptor", destroy_filter);
    need(library, "cudnnDestroyConvolutionDescriptor", destroy);
    succeed(open(&handle), "cudnnCreate");
  }
};

// One convolution's descriptors, and what it may write on its way.
struct Vendors::Described {
  explicit Described(const Convolutions& library) : v(library) {}
  ~Described() {
    for (void* tensor : {in, out})
      if (tensor != nullptr) v.destroy_tensor(tensor);
    if (filter != nullptr) v.destroy_filter(filter);
    if (convolution != nullptr) v.destroy(convolution);
  }
  Described(const Described&) = delete;
  Described& operator=(const Described&) = delete;

  const Convolutions& v;
  void *in = nullptr, *out = nullptr, *filter = nullptr, *convolution = nullptr;
  std::optional<DeviceMemory> scratch;
};

std::function<void()> Vendors::prepared(const Convolution& c, const Task& task,
                                        const std::vector<DeviceMemory>& memory) {
  if (!convolutions_) convolutions_ = std::make_unique<Convolutions>();
  Convolutions& v = *convolutions_;
  constexpr int kChannelsFirst = 0, kCorrelation = 1, kF32 = 0, kMatrixUnits = 1, kMultiplyAdds = 3;
  constexpr int kImplicit = 0, kImplicitPrecomputed = 1, kMaxFound = 16;
  const base::Dtype dtype = task.arrays[c.in].dtype;
  const int type = type_numbers(dtype).convolution;
  if (type == kUnknown)
    throw DeviceError("no baseline: cuDNN is asked for convolutions of f32, tf32, f16 and bf16 alone");
  for (const std::size_t other : {c.weights, c.out})
    if (task.arrays[other].dtype != dtype) throw DeviceError("no baseline: cuDNN is asked for tensors of one type");
  const auto whole = [](std::int64_t n) { return static_cast<int>(n); };
  const std::int64_t out_y = (c.height + 2 * c.pad_y - c.window_y) / c.stride_y + 1;
  const std::int64_t out_x = (c.width + 2 * c.pad_x - c.window_x) / c.stride_x + 1;
  const auto d = std::make_shared<Described>(v);
  succeed(v.create_tensor(&d->in), "cudnnCreateTensorDescriptor");
  succeed(v.create_tensor(&d->out), "cudnnCreateTensorDescriptor");
  succeed(v.create_filter(&d->filter), "cudnnCreateFilterDescriptor");
  succeed(v.create(&d->convolution), "cudnnCreateConvolutionDescriptor");
  succeed(
      v.set_tensor(d->in, kChannelsFirst, type, whole(c.images), whole(c.channels), whole(c.height), whole(c.width)),
      "cudnnSetTensor4dDescriptor");
  succeed(v.set_tensor(d->out, kChannelsFirst, type, whole(c.images), whole(c.filters), whole(out_y), whole(out_x)),
          "cudnnSetTensor4dDescriptor");
  succeed(v.set_filter(d->filter, type, kChannelsFirst, whole(c.filters), whole(c.channels / c.groups),
                       whole(c.window_y), whole(c.window_x)),
          "cudnnSetFilter4dDescriptor");
  succeed(v.set(d->convolution, whole(c.pad_y), whole(c.pad_x), whole(c.stride_y), whole(c.stride_x), 1, 1,
                kCorrelation, kF32),
          "cudnnSetConvolution2dDescriptor");
  succeed(v.set_groups(d->convolution, whole(c.groups)), "cudnnSetConvolutionGroupCount");
  succeed(v.set_math(d->convolution, dtype == base::Dtype::kF32 ? kMultiplyAdds : kMatrixUnits),
          "cudnnSetConvolutionMathType");
  Convolutions::Found found[kMaxFound] = {};
  int n = 0;
  succeed(v.find(v.handle, d->in, d->filter, d->convolution, d->out, kMaxFound, &n, found),
          "cudnnFindConvolutionForwardAlgorithm");
  const auto best = std::find_if(found, found + n, [&](const Convolutions::Found& f) {
    return f.status == 0 && (!c.implicit || f.algorithm == kImplicit || f.algorithm == kImplicitPrecomputed);
  });
  if (best == found + n) throw DeviceError("cuDNN has no algorithm for this convolution");
  // What the library found may be of its usual mode, which shortens the significand of f32.
  if (dtype != base::Dtype::kF32) succeed(v.set_math(d->convolution, best->math), "cudnnSetConvolutionMathType");
  std::size_t bytes = 0;
  succeed(v.workspace(v.handle, d->in, d->filter, d->convolution, d->out, best->algorithm, &bytes),
          "cudnnGetConvolutionForwardWorkspaceSize");
  d->scratch.emplace(driver_, std::max<std::size_t>(bytes, 1));
  return [d, bytes, algorithm = best->algorithm, image = pointer(memory[c.in]), weights = pointer(memory[c.weights]),
          result = pointer(memory[c.out])] {
    constexpr float kOne = 1, kZero = 0;
    succeed(d->v.forward(d->v.handle, &kOne, d->in, image, d->filter, weights, d->convolution, algorithm,
                         pointer(*d->scratch), bytes, &kZero, d->out, result),
            "cudnnConvolutionForward");
  };
}

Vendors::Vendors(const Driver& driver) : driver_(driver) {}
Vendors::~Vendors() = default;

}  // namespace tilescope::cuda::device
