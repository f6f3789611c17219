// HIP's head of the prelude, which needs no header; where hipcc includes its own, they are used.

#if defined(__HIP__)

#define TILESCOPE_DEVICE inline __attribute__((device, always_inline))
#define TILESCOPE_PLACE
#define TILESCOPE_HERE
#define TILESCOPE_ACCESS

#if !defined(__global__)
#define __global__ __attribute__((global))
#endif
#if !defined(__shared__)
#define __shared__ __attribute__((shared))
#endif
#if !defined(__launch_bounds__)
#define __launch_bounds__(threads) __attribute__((amdgpu_flat_work_group_size(1, threads)))
#endif
#define __maxnreg__(registers) __attribute__((amdgpu_num_vgpr(registers)))

// A vector, not a structure: clang keeps arrays in local memory that are copied by structures.
using word16 = unsigned int __attribute__((ext_vector_type(4)));
struct block_index {
  unsigned int x;
};
#define threadIdx (block_index{__builtin_amdgcn_workitem_id_x()})
#define blockIdx (block_index{__builtin_amdgcn_workgroup_id_x()})

TILESCOPE_DEVICE void block_barrier() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
#define __syncthreads block_barrier

// The block's scratchpad from its `offset`-th byte on.
template <class T>
TILESCOPE_DEVICE T* shared_array(int offset) {
  extern __shared__ word16 scratchpad[];
  return reinterpret_cast<T*>(reinterpret_cast<char*>(scratchpad) + offset);
}

// Every copy goes through registers and has arrived when the next statement begins.
TILESCOPE_DEVICE void cp_async_commit() {}
template <int Pending>
TILESCOPE_DEVICE void cp_async_wait() {}

TILESCOPE_DEVICE unsigned short f16_bits(float x) {
  return __builtin_bit_cast(unsigned short, static_cast<_Float16>(x));
}
TILESCOPE_DEVICE float f16_value(unsigned short bits) {
  return __builtin_bit_cast(_Float16, bits);
}
TILESCOPE_DEVICE unsigned int bits_of(float x) { return __builtin_bit_cast(unsigned int, x); }
TILESCOPE_DEVICE float float_of(unsigned int bits) { return __builtin_bit_cast(float, bits); }

#define memcpy __builtin_memcpy
#define fmaf __builtin_fmaf
#define fma __builtin_fma
#define sqrtf __builtin_sqrtf
#define sqrt __builtin_sqrt
#define fabsf __builtin_fabsf
#define fabs __builtin_fabs
#define fmaxf __builtin_fmaxf
#define fmax __builtin_fmax
#define fminf __builtin_fminf
#define fmin __builtin_fmin
#define rintf __builtin_rintf
#define rint __builtin_rint
#define floorf __builtin_floorf
#define floor __builtin_floor
#define ceilf __builtin_ceilf
#define ceil __builtin_ceil
#define expf __ocml_exp_f32
#define exp __ocml_exp_f64
#define logf __ocml_log_f32
#define log __ocml_log_f64
#define tanhf __ocml_tanh_f32
#define tanh __ocml_tanh_f64
#define erff __ocml_erf_f32
#define erf __ocml_erf_f64
#define powf __ocml_pow_f32
#define pow __ocml_pow_f64
#define sinf __ocml_sin_f32
#define sin __ocml_sin_f64
#define cosf __ocml_cos_f32
#define cos __ocml_cos_f64
extern "C" __attribute__((device)) float __ocml_exp_f32(float);
extern "C" __attribute__((device)) float __ocml_log_f32(float);
extern "C" __attribute__((device)) float __ocml_tanh_f32(float);
extern "C" __attribute__((device)) float __ocml_erf_f32(float);
extern "C" __attribute__((device)) float __ocml_pow_f32(float, float);
extern "C" __attribute__((device)) float __ocml_sin_f32(float);
extern "C" __attribute__((device)) float __ocml_cos_f32(float);
extern "C" __attribute__((device)) double __ocml_exp_f64(double);
extern "C" __attribute__((device)) double __ocml_log_f64(double);
extern "C" __attribute__((device)) double __ocml_tanh_f64(double);
extern "C" __attribute__((device)) double __ocml_erf_f64(double);
extern "C" __attribute__((device)) double __ocml_pow_f64(double, double);
extern "C" __attribute__((device)) double __ocml_sin_f64(double);
extern "C" __attribute__((device)) double __ocml_cos_f64(double);

#endif
