// SPDX-License-Identifier: Apache-2.0
// cuBLAS without a GPU: computes nothing, and writes down what it is asked.

#include "tests/support/fake_driver/log.h"

using tilescope::tests::log_call;

namespace {

int handle;

}  // namespace

extern "C" {

int cublasCreate_v2(void** created) {
  *created = &handle;
  return 0;
}
int cublasGemmEx(void*, int op_a, int op_b, int m, int n, int k, const void*, const void*, int a_type, int lda,
                 const void*, int b_type, int ldb, const void*, void*, int c_type, int ldc, int sum, int algorithm) {
  log_call("cublasGemmEx", op_a, op_b, m, n, k, a_type, lda, b_type, ldb, c_type, ldc, sum, algorithm);
  return 0;
}
int cublasGemmStridedBatchedEx(void*, int op_a, int op_b, int m, int n, int k, const void*, const void*, int a_type,
                               int lda, long long a_stride, const void*, int b_type, int ldb, long long b_stride,
                               const void*, void*, int c_type, int ldc, long long c_stride, int batch, int sum,
                               int algorithm) {
  log_call("cublasGemmStridedBatchedEx", op_a, op_b, m, n, k, a_type, lda, a_stride, b_type, ldb, b_stride, c_type, ldc,
           c_stride, batch, sum, algorithm);
  return 0;
}

}  // extern "C"
