// The functions that emitted kernels call: memory, types and arithmetic. backends/cuda/detail/prelude.h says how a
// text takes those that it needs. One source for three compilers: CUDA's (nvcc, NVRTC), HIP's (with the head in
// prelude_hip.cuh) and any C++20 compiler for the CPU, where a runtime stands behind the functions tilescope_*.
//
// Every access to memory and scratchpad is a call of load, store or cp_async: N neighbouring elements in one access.
//   ..._if          `when` says whether it happens at all
//   ..._or_zero     `inside` says whether memory is read; zeros otherwise

#if defined(__CUDACC__)

#define TILESCOPE_DEVICE __device__ __forceinline__
#define TILESCOPE_PLACE
#define TILESCOPE_HERE
#define TILESCOPE_ACCESS

using word16 = uint4;

// The block's scratchpad from its `offset`-th byte on.
template <class T>
TILESCOPE_DEVICE T* shared_array(int offset) {
  extern __shared__ __align__(1024) char scratchpad[];
  return reinterpret_cast<T*>(scratchpad + offset);
}

TILESCOPE_DEVICE void cp_async_commit() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

template <int Pending>
TILESCOPE_DEVICE void cp_async_wait() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" ::"n"(Pending) : "memory");
#endif
}

TILESCOPE_DEVICE unsigned short f16_bits(float x) {
  unsigned short bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
  return bits;
}

TILESCOPE_DEVICE float f16_value(unsigned short bits) {
  float x;
  asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
  return x;
}

TILESCOPE_DEVICE unsigned int bits_of(float x) { return __float_as_uint(x); }
TILESCOPE_DEVICE float float_of(unsigned int bits) { return __uint_as_float(bits); }

#elif defined(TILESCOPE_ON_CPU)

#define TILESCOPE_DEVICE inline __attribute__((always_inline))
// Where the kernel's text calls a function; an access is known by its line.
#define TILESCOPE_PLACE , int line = __builtin_LINE()
#define TILESCOPE_HERE , line
// One access of the text stays one access of that width.
#define TILESCOPE_ACCESS volatile

#define __global__
#define __launch_bounds__(threads)
#define __maxnreg__(registers)
#define memcpy __builtin_memcpy
#define fmaf __builtin_fmaf
#define fma __builtin_fma
#define expf __builtin_expf
#define exp __builtin_exp
#define logf __builtin_logf
#define log __builtin_log
#define sqrtf __builtin_sqrtf
#define sqrt __builtin_sqrt
#define tanhf __builtin_tanhf
#define tanh __builtin_tanh
#define erff __builtin_erff
#define erf __builtin_erf
#define powf __builtin_powf
#define pow __builtin_pow
#define sinf __builtin_sinf
#define sin __builtin_sin
#define cosf __builtin_cosf
#define cos __builtin_cos
#define floorf __builtin_floorf
#define floor __builtin_floor
#define ceilf __builtin_ceilf
#define ceil __builtin_ceil
#define rintf __builtin_rintf
#define rint __builtin_rint
#define fabsf __builtin_fabsf
#define fabs __builtin_fabs
#define fmaxf __builtin_fmaxf
#define fmax __builtin_fmax
#define fminf __builtin_fminf
#define fmin __builtin_fmin

using word16 = unsigned __int128;
struct tilescope_index {
  unsigned int x, y, z;
};
extern "C" tilescope_index threadIdx;
extern "C" tilescope_index blockIdx;
extern "C" void* tilescope_shared();
extern "C" void tilescope_barrier(int line);
// The next access of this thread: `bytes` at `at`, written or read; none where `happens` is false.
extern "C" void tilescope_access(const void* at, int bytes, bool writes, bool happens, int line);
extern "C" void tilescope_copy_async(void* to, const void* from, int bytes, bool happens, bool reads, int line);
extern "C" void tilescope_commit_async();
extern "C" void tilescope_wait_async(int pending);

template <class T>
TILESCOPE_DEVICE T* shared_array(int offset) {
  return reinterpret_cast<T*>(static_cast<char*>(tilescope_shared()) + offset);
}

TILESCOPE_DEVICE void __syncthreads(int line = __builtin_LINE()) { tilescope_barrier(line); }
TILESCOPE_DEVICE void cp_async_commit() { tilescope_commit_async(); }
template <int Pending>
TILESCOPE_DEVICE void cp_async_wait() {
  tilescope_wait_async(Pending);
}

TILESCOPE_DEVICE unsigned int bits_of(float x) { return __builtin_bit_cast(unsigned int, x); }
TILESCOPE_DEVICE float float_of(unsigned int bits) { return __builtin_bit_cast(float, bits); }

// Nearest, ties to even, by the unit in the last place that a binary16 of that size has.
TILESCOPE_DEVICE unsigned short f16_bits(float x) {
  const unsigned int sign = bits_of(x) >> 16 & 0x8000u;
  const float size = fabsf(x);
  if (size != size) return static_cast<unsigned short>(sign | 0x7e00u);
  if (size >= 65520.0f) return static_cast<unsigned short>(sign | 0x7c00u);
  const unsigned int bits = bits_of(size);
  if (size < 0x1p-14f) return static_cast<unsigned short>(sign | static_cast<unsigned int>(rintf(size * 0x1p24f)));
  return static_cast<unsigned short>(sign | (bits + 0xfffu + (bits >> 13 & 1u) - (112u << 23)) >> 13);
}

TILESCOPE_DEVICE float f16_value(unsigned short half) {
  const unsigned int sign = (half & 0x8000u) << 16;
  const unsigned int rest = half & 0x7fffu;
  if (rest >= 0x7c00u) return float_of(sign | 0x7f800000u | (rest & 0x3ffu) << 13);
  if (rest < 0x400u) return float_of(sign | bits_of(static_cast<float>(rest) * 0x1p-24f));
  return float_of(sign | ((rest << 13) + (112u << 23)));
}

#endif

// 16-bit floats are stored; arithmetic is done in float.
struct f16 {
  unsigned short bits;
  f16() = default;
  TILESCOPE_DEVICE f16(float x) : bits(f16_bits(x)) {}
  TILESCOPE_DEVICE operator float() const { return f16_value(bits); }
};

// Stored as 16 bits; arithmetic is done in float.
struct bf16 {
  unsigned short bits;
  bf16() = default;
  TILESCOPE_DEVICE bf16(float x) {
    const unsigned int exact = bits_of(x), is_nan = (exact & 0x7fffffffu) > 0x7f800000u;
    bits = static_cast<unsigned short>((is_nan ? exact | 0x400000u : exact + 0x7fffu + (exact >> 16 & 1u)) >> 16);
  }
  TILESCOPE_DEVICE operator float() const { return float_of(static_cast<unsigned int>(bits) << 16); }
};

// An f32 of which 10 bits of the fraction are kept: the nearest, ties away from zero, as PTX's cvt.rna.tf32.f32 rounds,
// in words that chips without that instruction have too.
struct tf32 {
  unsigned int bits;
  tf32() = default;
  TILESCOPE_DEVICE tf32(float x) : bits(rounded(bits_of(x))) {}
  TILESCOPE_DEVICE operator float() const { return float_of(bits); }

 private:
  TILESCOPE_DEVICE static unsigned int rounded(unsigned int x) {
    return ((x & 0x7fffffffu) > 0x7f800000u ? x | 0x400000u : x + 0x1000u) & ~0x1fffu;
  }
};

// Floats of 8 bits: a sign, an exponent and Fraction bits, up to the code Greatest; arithmetic is done in float. Those
// whose greatest code is 0x7f have no infinity and no -0, whose code is their not-a-number. Conversions round to the
// nearest, ties to even, and give the greatest number for what is beyond it, as cvt.rn.satfinite does and, of 0x7f
// ("fnuz"), v_cvt_pk after v_med3, which lets infinity through to become not-a-number. In words that chips without such
// instructions have too.
template <int Fraction, int Bias, unsigned int Greatest>
struct float8 {
  unsigned char bits;
  float8() = default;
  TILESCOPE_DEVICE float8(float x) : bits(rounded(bits_of(x))) {}
  TILESCOPE_DEVICE operator float() const {
    const unsigned int sign = (bits & 0x80u) << 24, rest = bits & 0x7fu;
    if (is_fnuz && bits == 0x80u) return float_of(0x7fc00000u);
    if (rest > Greatest) return float_of(sign | (Greatest == 0x7bu && rest == 0x7cu ? 0x7f800000u : 0x7fc00000u));
    if (rest < 1u << Fraction)
      return float_of(sign | bits_of(static_cast<float>(rest) * float_of((128u - Bias - Fraction) << 23)));
    return float_of(sign | ((rest << shift) + ((127u - Bias) << 23)));
  }

 private:
  static constexpr bool is_fnuz = Greatest == 0x7fu;
  static constexpr int shift = 23 - Fraction;

  TILESCOPE_DEVICE static unsigned char rounded(unsigned int x) {
    const unsigned int sign = x >> 24 & 0x80u, size = x & 0x7fffffffu;
    if (size > 0x7f800000u || (is_fnuz && size == 0x7f800000u)) return is_fnuz ? 0x80 : 0x7f;
    unsigned int code;
    if (size < (128u - Bias) << 23) {  // below the least normal number: in units of the least of all
      const float units = float_of(size) * float_of((126u + Bias + Fraction) << 23);
      code = static_cast<unsigned int>(rintf(units));
    } else {
      code = ((size + ((1u << (shift - 1)) - 1u) + (size >> shift & 1u)) >> shift) - ((127u - Bias) << Fraction);
    }
    if (code > Greatest) code = Greatest;
    return static_cast<unsigned char>(is_fnuz && code == 0 ? 0u : sign | code);
  }
};
using f8e4m3 = float8<3, 7, 0x7eu>;
using f8e5m2 = float8<2, 15, 0x7bu>;
using f8e4m3fnuz = float8<3, 8, 0x7fu>;
using f8e5m2fnuz = float8<2, 16, 0x7fu>;

// The float next to a double on whose rounding to 16 or 8 bits the double itself would be rounded: of the two around it
// the odd one, so that nothing is rounded twice (Boldo and Melquiond 2008, "Emulation of FMA and correctly rounded
// sums").
TILESCOPE_DEVICE float to_odd(double x) {
  const float near = static_cast<float>(x);
  const double back = near;
  if (back == x || x != x) return near;
  const bool beyond = (back > x) == (x > 0.0);  // farther from zero than x
  return float_of((beyond ? bits_of(near) - 1u : bits_of(near)) | 1u);
}

// Functions of float end in f, those of int in i.
TILESCOPE_DEVICE float inverse_sqrtf(float x) { return 1.0f / sqrtf(x); }
TILESCOPE_DEVICE double inverse_sqrt(double x) { return 1.0 / sqrt(x); }
TILESCOPE_DEVICE float sigmoidf(float x) { return 1.0f / (1.0f + expf(-x)); }
TILESCOPE_DEVICE double sigmoid(double x) { return 1.0 / (1.0 + exp(-x)); }
TILESCOPE_DEVICE float reluf(float x) { return fmaxf(x, 0.0f); }
TILESCOPE_DEVICE double relu(double x) { return fmax(x, 0.0); }
TILESCOPE_DEVICE int relui(int x) { return x < 0 ? 0 : x; }
// Zeros and not-a-number stay what they are.
TILESCOPE_DEVICE float signumf(float x) { return x > 0.0f ? 1.0f : x < 0.0f ? -1.0f : x; }
// Zeros and not-a-number stay what they are.
TILESCOPE_DEVICE double signum(double x) { return x > 0.0 ? 1.0 : x < 0.0 ? -1.0 : x; }
TILESCOPE_DEVICE int signumi(int x) { return x > 0 ? 1 : x < 0 ? -1 : 0; }
TILESCOPE_DEVICE int absi(int x) { return x < 0 ? -x : x; }
TILESCOPE_DEVICE int maxi(int a, int b) { return a < b ? b : a; }
TILESCOPE_DEVICE int mini(int a, int b) { return b < a ? b : a; }
// The remainder of a division rounded down.
TILESCOPE_DEVICE float modulof(float x, float y) { return fmaf(-floorf(x / y), y, x); }
// The remainder of a division rounded down.
TILESCOPE_DEVICE double modulo(double x, double y) { return fma(-floor(x / y), y, x); }
// The remainder of a division rounded down; by zero it is zero.
TILESCOPE_DEVICE int moduloi(int x, int y) {
  if (y == 0 || y == -1) return 0;
  const int rest = x % y;
  return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
}
TILESCOPE_DEVICE float infinity() { return float_of(0x7f800000u); }
TILESCOPE_DEVICE float not_a_number() { return float_of(0x7fc00000u); }

// The nearest integer, ties to even; what is too great or too small becomes the greatest or least, not-a-number zero.
TILESCOPE_DEVICE int to_i32(double x) {
  if (x != x) return 0;
  if (x >= 2147483647.0) return 2147483647;
  if (x <= -2147483648.0) return -2147483647 - 1;
  return static_cast<int>(rint(x));
}
TILESCOPE_DEVICE signed char to_i8(int x) { return static_cast<signed char>(maxi(-128, mini(x, 127))); }
TILESCOPE_DEVICE signed char to_i8(double x) { return to_i8(to_i32(x)); }
TILESCOPE_DEVICE unsigned char to_u8(int x) { return static_cast<unsigned char>(maxi(0, mini(x, 255))); }
TILESCOPE_DEVICE unsigned char to_u8(double x) { return to_u8(to_i32(x)); }

// Division that rounds down, for a positive divisor.
template <class Integer>
TILESCOPE_DEVICE Integer floor_div(Integer a, Integer b) {
  return a / b - (a % b < 0);
}

// The remainder of a division that rounds down, for a positive divisor.
template <class Integer>
TILESCOPE_DEVICE Integer floor_mod(Integer a, Integer b) {
  return a % b + (a % b < 0 ? b : 0);
}

// The element at which the one of such an index lies in rows of `Row` bytes whose pieces of 16 bytes are swizzled. The
// array begins where eight such rows would.
template <class T, int Row>
TILESCOPE_DEVICE int swizzled(int index) {
  constexpr int size = static_cast<int>(sizeof(T));
  return (index * size ^ (index * size >> 7 & (Row / 16 - 1)) << 4) / size;
}

// The widest word of one access that divides so many bytes.
template <unsigned Bytes>
TILESCOPE_DEVICE auto widest_word() {
  if constexpr (Bytes % 16 == 0) return word16{};
  else if constexpr (Bytes % 8 == 0) return 0ull;
  else if constexpr (Bytes % 4 == 0) return 0u;
  else if constexpr (Bytes % 2 == 0) return static_cast<unsigned short>(0);
  else return static_cast<unsigned char>(0);
}

// N neighbouring elements in one access, where `when` holds; zeros, without an access, where `inside` does not.
template <int N, class T>
TILESCOPE_DEVICE void load_or_zero_if(bool when, bool inside, T* to, const T* from TILESCOPE_PLACE) {
  using Word = decltype(widest_word<N * sizeof(T)>());
  using Access = Word TILESCOPE_ACCESS;
  constexpr int each = static_cast<int>(sizeof(Word) / sizeof(T));
#if defined(TILESCOPE_ON_CPU)
  tilescope_access(from, N * static_cast<int>(sizeof(T)), false, when && inside, line);
#endif
  if (!when) return;
#pragma unroll
  for (int i = 0; i < N; i += each) {
    Word word{};
    if (inside) word = *reinterpret_cast<const Access*>(from + i);
    memcpy(to + i, &word, sizeof(word));
  }
}

// N neighbouring elements in one access, where `when` holds; zeros where `inside` does not.
template <int N, class T>
TILESCOPE_DEVICE void store_or_zero_if(bool when, bool inside, T* to, const T* from TILESCOPE_PLACE) {
  using Word = decltype(widest_word<N * sizeof(T)>());
  using Access = Word TILESCOPE_ACCESS;
  constexpr int each = static_cast<int>(sizeof(Word) / sizeof(T));
#if defined(TILESCOPE_ON_CPU)
  tilescope_access(to, N * static_cast<int>(sizeof(T)), true, when, line);
#endif
  if (!when) return;
#pragma unroll
  for (int i = 0; i < N; i += each) {
    Word word{};
    if (inside) memcpy(&word, from + i, sizeof(word));
    *reinterpret_cast<Access*>(to + i) = word;
  }
}

#if defined(TILESCOPE_ON_CPU)

template <int N, class T>
TILESCOPE_DEVICE void load(T* to, const T* from TILESCOPE_PLACE) {
  load_or_zero_if<N>(true, true, to, from TILESCOPE_HERE);
}

template <int N, class T>
TILESCOPE_DEVICE void store(T* to, const T* from TILESCOPE_PLACE) {
  store_or_zero_if<N>(true, true, to, from TILESCOPE_HERE);
}

template <int N, class T>
TILESCOPE_DEVICE void cp_async_or_zero_if(bool when, bool inside, T* to, const T* from TILESCOPE_PLACE) {
  tilescope_copy_async(to, from, N * static_cast<int>(sizeof(T)), when, inside, line);
}

#else

// N neighbouring elements in one access.
template <int N, class T>
TILESCOPE_DEVICE void load(T* to, const T* from) {
  using Word = decltype(widest_word<N * sizeof(T)>());
#pragma unroll
  for (int i = 0; i < N; i += sizeof(Word) / sizeof(T)) {
    const Word word = *reinterpret_cast<const Word*>(from + i);
    memcpy(to + i, &word, sizeof(word));
  }
}

// N neighbouring elements in one access.
template <int N, class T>
TILESCOPE_DEVICE void store(T* to, const T* from) {
  using Word = decltype(widest_word<N * sizeof(T)>());
#pragma unroll
  for (int i = 0; i < N; i += sizeof(Word) / sizeof(T)) {
    Word word;
    memcpy(&word, from + i, sizeof(word));
    *reinterpret_cast<Word*>(to + i) = word;
  }
}

// An asynchronous copy, which has arrived after the cp_async_wait that covers its group; zeros where `inside` does not
// hold. Through registers where the chip has no such copy, or none as wide.
template <int N, class T>
TILESCOPE_DEVICE void cp_async_or_zero_if(bool when, bool inside, T* to, const T* from) {
#if defined(__CUDACC__)
#if __CUDA_ARCH__ >= 800
  constexpr int bytes = N * static_cast<int>(sizeof(T));
  if constexpr (bytes == 4 || bytes == 8 || bytes == 16) {
    const unsigned int shared = static_cast<unsigned int>(__cvta_generic_to_shared(to));
    const int read = inside ? bytes : 0;
    if (!when) return;
    if constexpr (bytes == 16)  // not through L1
      asm volatile("cp.async.cg.shared.global [%0], [%1], %2, %3;" ::"r"(shared), "l"(from), "n"(bytes), "r"(read)
                   : "memory");
    else
      asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(shared), "l"(from), "n"(bytes), "r"(read)
                   : "memory");
    return;
  }
#endif
#endif
  T passing[N];
  load_or_zero_if<N>(when, inside, passing, from);
  if (when) store<N>(to, passing);
}

#endif

template <int N, class T>
TILESCOPE_DEVICE void load_if(bool when, T* to, const T* from TILESCOPE_PLACE) {
  load_or_zero_if<N>(when, true, to, from TILESCOPE_HERE);
}

template <int N, class T>
TILESCOPE_DEVICE void load_or_zero(bool inside, T* to, const T* from TILESCOPE_PLACE) {
  load_or_zero_if<N>(true, inside, to, from TILESCOPE_HERE);
}

template <int N, class T>
TILESCOPE_DEVICE void store_if(bool when, T* to, const T* from TILESCOPE_PLACE) {
  store_or_zero_if<N>(when, true, to, from TILESCOPE_HERE);
}

template <int N, class T>
TILESCOPE_DEVICE void store_or_zero(bool inside, T* to, const T* from TILESCOPE_PLACE) {
  store_or_zero_if<N>(true, inside, to, from TILESCOPE_HERE);
}

template <int N, class T>
TILESCOPE_DEVICE void cp_async(T* to, const T* from TILESCOPE_PLACE) {
  cp_async_or_zero_if<N>(true, true, to, from TILESCOPE_HERE);
}

template <int N, class T>
TILESCOPE_DEVICE void cp_async_if(bool when, T* to, const T* from TILESCOPE_PLACE) {
  cp_async_or_zero_if<N>(when, true, to, from TILESCOPE_HERE);
}

template <int N, class T>
TILESCOPE_DEVICE void cp_async_or_zero(bool inside, T* to, const T* from TILESCOPE_PLACE) {
  cp_async_or_zero_if<N>(true, inside, to, from TILESCOPE_HERE);
}
