#define TILESCOPE_DEVICE inline __attribute__((device, always_inline))
#define TILESCOPE_BUILTIN(name) tilescope_##name
#define TILESCOPE_PLACE
#define TILESCOPE_HERE
#define TILESCOPE_ACCESS
// hipcc brings what is defined here only where nobody did.
#if !defined(__global__)
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#endif
#if !defined(__launch_bounds__)
#define __launch_bounds__(threads) __attribute__((amdgpu_flat_work_group_size(1, threads)))
#endif
#define __maxnreg__(registers) __attribute__((amdgpu_num_vgpr(registers)))
// A vector, not a structure: clang keeps arrays in local memory that are copied by structures.
typedef unsigned int tilescope_word16 __attribute__((ext_vector_type(4)));
struct tilescope_index {
  unsigned int x;
};
#define threadIdx (tilescope_index{__builtin_amdgcn_workitem_id_x()})
#define blockIdx (tilescope_index{__builtin_amdgcn_workgroup_id_x()})
#define __syncthreads tilescope_barrier

TILESCOPE_DEVICE void tilescope_barrier() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

TILESCOPE_DEVICE void tilescope_access(const void*, int, bool, bool) {}

// The block's scratchpad, from its `offset`-th byte on.
template <class T>
TILESCOPE_DEVICE T* shared_array(int offset) {
  extern __shared__ tilescope_word16 tilescope_arena[];
  return reinterpret_cast<T*>(reinterpret_cast<char*>(tilescope_arena) + offset);
}

// Every copy goes through registers and has arrived when the next statement begins.
TILESCOPE_DEVICE void commit_async() {}
template <int Pending>
TILESCOPE_DEVICE void wait_async() {}

TILESCOPE_DEVICE unsigned short f16_bits(float x) {
  return __builtin_bit_cast(unsigned short, static_cast<_Float16>(x));
}
TILESCOPE_DEVICE float f16_value(unsigned short bits) { return __builtin_bit_cast(_Float16, bits); }
TILESCOPE_DEVICE unsigned int bits_of(float x) { return __builtin_bit_cast(unsigned int, x); }
TILESCOPE_DEVICE float float_of(unsigned int bits) { return __builtin_bit_cast(float, bits); }

// What the instruction set has, and what AMD's device library has.
#define tilescope_memcpy __builtin_memcpy
#define tilescope_fmaf __builtin_fmaf
#define tilescope_fma __builtin_fma
#define tilescope_sqrtf __builtin_sqrtf
#define tilescope_sqrt __builtin_sqrt
#define tilescope_fabsf __builtin_fabsf
#define tilescope_fabs __builtin_fabs
#define tilescope_fmaxf __builtin_fmaxf
#define tilescope_fmax __builtin_fmax
#define tilescope_fminf __builtin_fminf
#define tilescope_fmin __builtin_fmin
#define tilescope_rint __builtin_rint
#define tilescope_rintf __builtin_rintf
#define tilescope_expf __ocml_exp_f32
#define tilescope_exp __ocml_exp_f64
#define tilescope_logf __ocml_log_f32
#define tilescope_log __ocml_log_f64
#define tilescope_tanhf __ocml_tanh_f32
#define tilescope_tanh __ocml_tanh_f64
#define tilescope_floorf __builtin_floorf
#define tilescope_floor __builtin_floor
#define tilescope_ceilf __builtin_ceilf
#define tilescope_ceil __builtin_ceil
#define tilescope_powf __ocml_pow_f32
#define tilescope_pow __ocml_pow_f64
#define tilescope_sinf __ocml_sin_f32
#define tilescope_sin __ocml_sin_f64
#define tilescope_cosf __ocml_cos_f32
#define tilescope_cos __ocml_cos_f64
#define tilescope_erff __ocml_erf_f32
#define tilescope_erf __ocml_erf_f64
extern "C" {
__attribute__((device)) float __ocml_exp_f32(float), __ocml_log_f32(float);
__attribute__((device)) float __ocml_tanh_f32(float), __ocml_erf_f32(float);
__attribute__((device)) float __ocml_pow_f32(float, float), __ocml_sin_f32(float), __ocml_cos_f32(float);
__attribute__((device)) double __ocml_pow_f64(double, double), __ocml_sin_f64(double), __ocml_cos_f64(double);
__attribute__((device)) double __ocml_exp_f64(double), __ocml_log_f64(double);
__attribute__((device)) double __ocml_tanh_f64(double), __ocml_erf_f64(double);
}

