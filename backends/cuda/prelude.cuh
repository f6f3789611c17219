// What the kernels below are written in. One text for two compilers: that of the chip (nvcc, NVRTC or, with a head of
// its own, HIP's; no header is needed), and any C++20 compiler for the CPU, where a runtime stands behind the functions
// tilescope_*.
//
// Every access to memory and scratchpad is a call of load, store or copy_async: N neighbouring elements in one access.
//   ..._if          `when` says whether it happens at all
//   ..._or_zero     `inside` says whether memory is read; zeros otherwise
// What copy_async copies arrives at any time up to the wait_async that covers its group.

#if defined(__CUDACC__)

#define TILESCOPE_DEVICE __device__ __forceinline__
#define TILESCOPE_BUILTIN(name) name
#define TILESCOPE_PLACE
#define TILESCOPE_HERE
#define TILESCOPE_ACCESS
struct alignas(16) tilescope_word16 {
  unsigned int part[4];
};

TILESCOPE_DEVICE void tilescope_access(const void*, int, bool, bool) {}

// The block's scratchpad, from its `offset`-th byte on.
template <class T>
TILESCOPE_DEVICE T* shared_array(int offset) {
  extern __shared__ __align__(1024) uint4 tilescope_arena[];  // what swizzled rows repeat after
  return reinterpret_cast<T*>(reinterpret_cast<char*>(tilescope_arena) + offset);
}

TILESCOPE_DEVICE void commit_async() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

template <int Pending>
TILESCOPE_DEVICE void wait_async() {
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

#else

#define TILESCOPE_ON_CPU
#define TILESCOPE_DEVICE inline __attribute__((always_inline))
#define TILESCOPE_BUILTIN(name) __builtin_##name
// Where the kernel's text calls a function; an access is known by its line.
#define TILESCOPE_PLACE , int line = __builtin_LINE()
#define TILESCOPE_HERE , line
// One access of the text stays one access of that width.
#define TILESCOPE_ACCESS volatile
#define __global__
#define __launch_bounds__(threads)
#define __maxnreg__(registers)

using tilescope_word16 = unsigned __int128;
struct tilescope_index {
  unsigned int x, y, z;
};
extern "C" {
extern tilescope_index threadIdx, blockIdx;
void* tilescope_shared();
void tilescope_barrier(int line);
// The next access of this thread: `bytes` at `at`, written or read; none where `happens` is false.
void tilescope_access(const void* at, int bytes, bool writes, bool happens, int line);
void tilescope_copy_async(void* to, const void* from, int bytes, bool happens, bool reads, int line);
void tilescope_commit_async();
void tilescope_wait_async(int pending);
}

template <class T>
TILESCOPE_DEVICE T* shared_array(int offset) {
  return reinterpret_cast<T*>(static_cast<char*>(tilescope_shared()) + offset);
}

TILESCOPE_DEVICE void __syncthreads(int line = __builtin_LINE()) { tilescope_barrier(line); }
TILESCOPE_DEVICE void commit_async() { tilescope_commit_async(); }
template <int Pending>
TILESCOPE_DEVICE void wait_async() {
  tilescope_wait_async(Pending);
}

TILESCOPE_DEVICE unsigned int bits_of(float x) { return __builtin_bit_cast(unsigned int, x); }
TILESCOPE_DEVICE float float_of(unsigned int bits) { return __builtin_bit_cast(float, bits); }

// Nearest, ties to even, by the unit in the last place that a binary16 of that size has.
TILESCOPE_DEVICE unsigned short f16_bits(float x) {
  const unsigned int sign = bits_of(x) >> 16 & 0x8000u;
  const float size = __builtin_fabsf(x);
  if (size != size) return static_cast<unsigned short>(sign | 0x7e00u);
  if (size >= 65520.0f) return static_cast<unsigned short>(sign | 0x7c00u);
  const unsigned int bits = bits_of(size);
  if (size < 0x1p-14f)
    return static_cast<unsigned short>(sign | static_cast<unsigned int>(__builtin_rintf(size * 0x1p24f)));
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

// From here on the text is the same for every compiler.

// 16-bit floats are stored; arithmetic is done in float.
struct f16 {
  unsigned short bits;
  f16() = default;
  TILESCOPE_DEVICE f16(float x) : bits(f16_bits(x)) {}
  TILESCOPE_DEVICE operator float() const { return f16_value(bits); }
};

struct bf16 {
  unsigned short bits;
  bf16() = default;
  TILESCOPE_DEVICE bf16(float x) : bits(static_cast<unsigned short>(rounded(bits_of(x)) >> 16)) {}
  TILESCOPE_DEVICE operator float() const { return float_of(static_cast<unsigned int>(bits) << 16); }

 private:
  TILESCOPE_DEVICE static unsigned int rounded(unsigned int x) {
    return (x & 0x7fffffffu) > 0x7f800000u ? x | 0x400000u : x + 0x7fffu + (x >> 16 & 1u);
  }
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
struct tilescope_float8 {
  unsigned char bits;
  tilescope_float8() = default;
  TILESCOPE_DEVICE tilescope_float8(float x) : bits(rounded(bits_of(x))) {}
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
      code = static_cast<unsigned int>(TILESCOPE_BUILTIN(rintf)(units));
    } else {
      code = ((size + ((1u << (shift - 1)) - 1u) + (size >> shift & 1u)) >> shift) - ((127u - Bias) << Fraction);
    }
    if (code > Greatest) code = Greatest;
    return static_cast<unsigned char>(is_fnuz && code == 0 ? 0u : sign | code);
  }
};
using f8e4m3 = tilescope_float8<3, 7, 0x7eu>;
using f8e5m2 = tilescope_float8<2, 15, 0x7bu>;
using f8e4m3fnuz = tilescope_float8<3, 8, 0x7fu>;
using f8e5m2fnuz = tilescope_float8<2, 16, 0x7fu>;

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

TILESCOPE_DEVICE float fma_of(float a, float b, float c) { return TILESCOPE_BUILTIN(fmaf)(a, b, c); }
TILESCOPE_DEVICE double fma_of(double a, double b, double c) { return TILESCOPE_BUILTIN(fma)(a, b, c); }
TILESCOPE_DEVICE float exp_of(float x) { return TILESCOPE_BUILTIN(expf)(x); }
TILESCOPE_DEVICE double exp_of(double x) { return TILESCOPE_BUILTIN(exp)(x); }
TILESCOPE_DEVICE float log_of(float x) { return TILESCOPE_BUILTIN(logf)(x); }
TILESCOPE_DEVICE double log_of(double x) { return TILESCOPE_BUILTIN(log)(x); }
TILESCOPE_DEVICE float sqrt_of(float x) { return TILESCOPE_BUILTIN(sqrtf)(x); }
TILESCOPE_DEVICE double sqrt_of(double x) { return TILESCOPE_BUILTIN(sqrt)(x); }
TILESCOPE_DEVICE float rsqrt_of(float x) { return 1.0f / sqrt_of(x); }
TILESCOPE_DEVICE double rsqrt_of(double x) { return 1.0 / sqrt_of(x); }
TILESCOPE_DEVICE float tanh_of(float x) { return TILESCOPE_BUILTIN(tanhf)(x); }
TILESCOPE_DEVICE double tanh_of(double x) { return TILESCOPE_BUILTIN(tanh)(x); }
TILESCOPE_DEVICE float erf_of(float x) { return TILESCOPE_BUILTIN(erff)(x); }
TILESCOPE_DEVICE double erf_of(double x) { return TILESCOPE_BUILTIN(erf)(x); }
TILESCOPE_DEVICE float pow_of(float x, float y) { return TILESCOPE_BUILTIN(powf)(x, y); }
TILESCOPE_DEVICE double pow_of(double x, double y) { return TILESCOPE_BUILTIN(pow)(x, y); }
TILESCOPE_DEVICE float sin_of(float x) { return TILESCOPE_BUILTIN(sinf)(x); }
TILESCOPE_DEVICE double sin_of(double x) { return TILESCOPE_BUILTIN(sin)(x); }
TILESCOPE_DEVICE float cos_of(float x) { return TILESCOPE_BUILTIN(cosf)(x); }
TILESCOPE_DEVICE double cos_of(double x) { return TILESCOPE_BUILTIN(cos)(x); }
TILESCOPE_DEVICE float floor_of(float x) { return TILESCOPE_BUILTIN(floorf)(x); }
TILESCOPE_DEVICE double floor_of(double x) { return TILESCOPE_BUILTIN(floor)(x); }
TILESCOPE_DEVICE int floor_of(int x) { return x; }
TILESCOPE_DEVICE float ceil_of(float x) { return TILESCOPE_BUILTIN(ceilf)(x); }
TILESCOPE_DEVICE double ceil_of(double x) { return TILESCOPE_BUILTIN(ceil)(x); }
TILESCOPE_DEVICE int ceil_of(int x) { return x; }
// Ties to even.
TILESCOPE_DEVICE float round_of(float x) { return TILESCOPE_BUILTIN(rintf)(x); }
TILESCOPE_DEVICE double round_of(double x) { return TILESCOPE_BUILTIN(rint)(x); }
TILESCOPE_DEVICE int round_of(int x) { return x; }
// The remainder of a division rounded down; of integers by zero it is zero.
TILESCOPE_DEVICE float mod_of(float x, float y) { return fma_of(-floor_of(x / y), y, x); }
TILESCOPE_DEVICE double mod_of(double x, double y) { return fma_of(-floor_of(x / y), y, x); }
TILESCOPE_DEVICE int mod_of(int x, int y) {
  if (y == 0 || y == -1) return 0;
  const int rest = x % y;
  return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
}
// Zeros and not-a-number stay what they are.
TILESCOPE_DEVICE float sign_of(float x) { return x > 0.0f ? 1.0f : x < 0.0f ? -1.0f : x; }
TILESCOPE_DEVICE double sign_of(double x) { return x > 0.0 ? 1.0 : x < 0.0 ? -1.0 : x; }
TILESCOPE_DEVICE int sign_of(int x) { return x > 0 ? 1 : x < 0 ? -1 : 0; }
TILESCOPE_DEVICE float sigmoid_of(float x) { return 1.0f / (1.0f + exp_of(-x)); }
TILESCOPE_DEVICE double sigmoid_of(double x) { return 1.0 / (1.0 + exp_of(-x)); }
TILESCOPE_DEVICE float abs_of(float x) { return TILESCOPE_BUILTIN(fabsf)(x); }
TILESCOPE_DEVICE double abs_of(double x) { return TILESCOPE_BUILTIN(fabs)(x); }
TILESCOPE_DEVICE int abs_of(int x) { return x < 0 ? -x : x; }
// A number wins over not-a-number.
TILESCOPE_DEVICE float max_of(float a, float b) { return TILESCOPE_BUILTIN(fmaxf)(a, b); }
TILESCOPE_DEVICE double max_of(double a, double b) { return TILESCOPE_BUILTIN(fmax)(a, b); }
TILESCOPE_DEVICE int max_of(int a, int b) { return a < b ? b : a; }
TILESCOPE_DEVICE float min_of(float a, float b) { return TILESCOPE_BUILTIN(fminf)(a, b); }
TILESCOPE_DEVICE double min_of(double a, double b) { return TILESCOPE_BUILTIN(fmin)(a, b); }
TILESCOPE_DEVICE int min_of(int a, int b) { return b < a ? b : a; }
TILESCOPE_DEVICE float relu_of(float x) { return max_of(x, 0.0f); }
TILESCOPE_DEVICE double relu_of(double x) { return max_of(x, 0.0); }
TILESCOPE_DEVICE int relu_of(int x) { return max_of(x, 0); }
TILESCOPE_DEVICE float infinity() { return float_of(0x7f800000u); }
TILESCOPE_DEVICE float not_a_number() { return float_of(0x7fc00000u); }

// The nearest integer, ties to even; what is too great or too small becomes the greatest or least, not-a-number zero.
TILESCOPE_DEVICE int to_i32(double x) {
  if (x != x) return 0;
  if (x >= 2147483647.0) return 2147483647;
  if (x <= -2147483648.0) return -2147483647 - 1;
  return static_cast<int>(TILESCOPE_BUILTIN(rint)(x));
}
TILESCOPE_DEVICE signed char to_i8(int x) { return static_cast<signed char>(max_of(-128, min_of(x, 127))); }
TILESCOPE_DEVICE signed char to_i8(double x) { return to_i8(to_i32(x)); }
TILESCOPE_DEVICE unsigned char to_u8(int x) { return static_cast<unsigned char>(max_of(0, min_of(x, 255))); }
TILESCOPE_DEVICE unsigned char to_u8(double x) { return to_u8(to_i32(x)); }

// Division that rounds down, and its rest, for a positive divisor.
template <class Integer>
TILESCOPE_DEVICE Integer floor_div(Integer a, Integer b) {
  return a / b - (a % b < 0);
}
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

// The widest access of one instruction that divides so many bytes.
TILESCOPE_DEVICE constexpr int tilescope_piece(int bytes) {
  return bytes % 16 == 0 ? 16 : bytes % 8 == 0 ? 8 : bytes % 4 == 0 ? 4 : bytes % 2 == 0 ? 2 : 1;
}

template <int Bytes>
struct tilescope_word {
  using type = unsigned char;
};
template <>
struct tilescope_word<2> { using type = unsigned short; };
template <>
struct tilescope_word<4> { using type = unsigned int; };
template <>
struct tilescope_word<8> { using type = unsigned long long; };
template <>
struct tilescope_word<16> { using type = tilescope_word16; };

template <int N, class T>
TILESCOPE_DEVICE void load_or_zero_if(bool when, bool inside, T* to, const T* from TILESCOPE_PLACE) {
  constexpr int piece = tilescope_piece(N * static_cast<int>(sizeof(T)));
  constexpr int each = piece / static_cast<int>(sizeof(T));
  using Word = typename tilescope_word<piece>::type;
  using Access = Word TILESCOPE_ACCESS;
  tilescope_access(from, N * static_cast<int>(sizeof(T)), false, when && inside TILESCOPE_HERE);
  if (!when) return;
#pragma unroll
  for (int i = 0; i < N; i += each) {
    Word word{};
    if (inside) word = *reinterpret_cast<const Access*>(from + i);
    TILESCOPE_BUILTIN(memcpy)(to + i, &word, piece);
  }
}

template <int N, class T>
TILESCOPE_DEVICE void store_or_zero_if(bool when, bool inside, T* to, const T* from TILESCOPE_PLACE) {
  constexpr int piece = tilescope_piece(N * static_cast<int>(sizeof(T)));
  constexpr int each = piece / static_cast<int>(sizeof(T));
  using Word = typename tilescope_word<piece>::type;
  using Access = Word TILESCOPE_ACCESS;
  tilescope_access(to, N * static_cast<int>(sizeof(T)), true, when TILESCOPE_HERE);
  if (!when) return;
#pragma unroll
  for (int i = 0; i < N; i += each) {
    Word word{};
    if (inside) TILESCOPE_BUILTIN(memcpy)(&word, from + i, piece);
    *reinterpret_cast<Access*>(to + i) = word;
  }
}

template <int N, class T>
TILESCOPE_DEVICE void copy_async_or_zero_if(bool when, bool inside, T* to, const T* from TILESCOPE_PLACE) {
  [[maybe_unused]] constexpr int bytes = N * static_cast<int>(sizeof(T));
#if defined(TILESCOPE_ON_CPU)
  tilescope_copy_async(to, from, bytes, when, inside, line);
#else
#if __CUDA_ARCH__ >= 800
  if constexpr (bytes == 4 || bytes == 8 || bytes == 16) {
    const unsigned int shared = static_cast<unsigned int>(__cvta_generic_to_shared(to));
    const int read = inside ? bytes : 0;
    if (!when) return;
    if constexpr (bytes == 16)  // by no cache of the core
      asm volatile("cp.async.cg.shared.global [%0], [%1], %2, %3;" ::"r"(shared), "l"(from), "n"(bytes), "r"(read)
                   : "memory");
    else
      asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(shared), "l"(from), "n"(bytes), "r"(read)
                   : "memory");
    return;
  }
#endif
  T passing[N];
  load_or_zero_if<N>(when, inside, passing, from);
  store_or_zero_if<N>(when, true, to, passing);
#endif
}

template <int N, class T>
TILESCOPE_DEVICE void load(T* to, const T* from TILESCOPE_PLACE) {
  load_or_zero_if<N>(true, true, to, from TILESCOPE_HERE);
}
template <int N, class T>
TILESCOPE_DEVICE void load_if(bool when, T* to, const T* from TILESCOPE_PLACE) {
  load_or_zero_if<N>(when, true, to, from TILESCOPE_HERE);
}
template <int N, class T>
TILESCOPE_DEVICE void load_or_zero(bool inside, T* to, const T* from TILESCOPE_PLACE) {
  load_or_zero_if<N>(true, inside, to, from TILESCOPE_HERE);
}
template <int N, class T>
TILESCOPE_DEVICE void store(T* to, const T* from TILESCOPE_PLACE) {
  store_or_zero_if<N>(true, true, to, from TILESCOPE_HERE);
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
TILESCOPE_DEVICE void copy_async(T* to, const T* from TILESCOPE_PLACE) {
  copy_async_or_zero_if<N>(true, true, to, from TILESCOPE_HERE);
}
template <int N, class T>
TILESCOPE_DEVICE void copy_async_if(bool when, T* to, const T* from TILESCOPE_PLACE) {
  copy_async_or_zero_if<N>(when, true, to, from TILESCOPE_HERE);
}
template <int N, class T>
TILESCOPE_DEVICE void copy_async_or_zero(bool inside, T* to, const T* from TILESCOPE_PLACE) {
  copy_async_or_zero_if<N>(true, inside, to, from TILESCOPE_HERE);
}
