// SPDX-License-Identifier: Apache-2.0
// cuDNN without a GPU: computes nothing, and writes down what it is asked. Of its algorithms the fastest is 7, which no
// implicit product is, then 1, which is; both may use matrix units, whatever was asked, as the usual mode of the
// library has it.

#include <cstddef>

#include "tests/support/fake_driver/log.h"

using tilescope::tests::log_call;

namespace {

constexpr int kUsualMath = 0, kWorkspace = 1000;

struct Found {
  int algorithm, status;
  float ms;
  std::size_t bytes;
  int determinism, math, unused[3];
};

int handle;

int create(void** descriptor, const char* name) {
  *descriptor = new int(0);
  log_call(name);
  return 0;
}
int destroy(void* descriptor, const char* name) {
  delete static_cast<int*>(descriptor);
  log_call(name);
  return 0;
}

}  // namespace

extern "C" {

int cudnnCreate(void** created) {
  *created = &handle;
  return 0;
}
int cudnnCreateTensorDescriptor(void** d) { return create(d, "cudnnCreateTensorDescriptor"); }
int cudnnCreateFilterDescriptor(void** d) { return create(d, "cudnnCreateFilterDescriptor"); }
int cudnnCreateConvolutionDescriptor(void** d) { return create(d, "cudnnCreateConvolutionDescriptor"); }
int cudnnDestroyTensorDescriptor(void* d) { return destroy(d, "cudnnDestroyTensorDescriptor"); }
int cudnnDestroyFilterDescriptor(void* d) { return destroy(d, "cudnnDestroyFilterDescriptor"); }
int cudnnDestroyConvolutionDescriptor(void* d) { return destroy(d, "cudnnDestroyConvolutionDescriptor"); }
int cudnnSetTensor4dDescriptor(void*, int layout, int type, int n, int c, int h, int w) {
  log_call("cudnnSetTensor4dDescriptor", layout, type, n, c, h, w);
  return 0;
}
int cudnnSetFilter4dDescriptor(void*, int type, int layout, int k, int c, int h, int w) {
  log_call("cudnnSetFilter4dDescriptor", type, layout, k, c, h, w);
  return 0;
}
int cudnnSetConvolution2dDescriptor(void*, int pad_y, int pad_x, int stride_y, int stride_x, int dilation_y,
                                    int dilation_x, int mode, int type) {
  log_call("cudnnSetConvolution2dDescriptor", pad_y, pad_x, stride_y, stride_x, dilation_y, dilation_x, mode, type);
  return 0;
}
int cudnnSetConvolutionGroupCount(void*, int groups) {
  log_call("cudnnSetConvolutionGroupCount", groups);
  return 0;
}
int cudnnSetConvolutionMathType(void*, int math) {
  log_call("cudnnSetConvolutionMathType", math);
  return 0;
}
int cudnnFindConvolutionForwardAlgorithm(void*, void*, void*, void*, void*, int most, int* n, Found* found) {
  *n = 0;
  for (const int algorithm : {7, 1})
    if (*n < most) found[(*n)++] = {algorithm, 0, 1, kWorkspace, 0, kUsualMath, {}};
  return 0;
}
int cudnnGetConvolutionForwardWorkspaceSize(void*, void*, void*, void*, void*, int, std::size_t* bytes) {
  *bytes = kWorkspace;
  return 0;
}
int cudnnConvolutionForward(void*, const void*, void*, const void*, void*, const void*, void*, int algorithm,
                            void* scratch, std::size_t bytes, const void*, void*, void*) {
  log_call("cudnnConvolutionForward", algorithm, bytes);
  return scratch == nullptr ? 3 : 0;
}

}  // extern "C"
