// What the 32 lanes of a warp do together.
//
// load_matrices: lane l of the first 8 * Count gives where row l % 8 of matrix l / 8 begins, 16 bytes each; every lane
// then has 4 bytes of each matrix, of row l / 4 (PTX: ldmatrix), or of column l / 4 where they are transposed.
// multiply_matrices_MxNxK: d += a * b, each lane's part of the matrices being what PTX's mma says.

#if defined(__CUDACC__)

template <int Count, bool Transposed>
TILESCOPE_DEVICE void tilescope_load_matrices(unsigned int* to, const void* from) {
  const unsigned int at = static_cast<unsigned int>(__cvta_generic_to_shared(from));
  if constexpr (Count == 4 && Transposed)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(at)
                 : "memory");
  else if constexpr (Count == 4)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(at)
                 : "memory");
  else if constexpr (Count == 2 && Transposed)
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                 : "=r"(to[0]), "=r"(to[1])
                 : "r"(at)
                 : "memory");
  else if constexpr (Count == 2)
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                 : "=r"(to[0]), "=r"(to[1])
                 : "r"(at)
                 : "memory");
  else if constexpr (Transposed)
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];" : "=r"(to[0]) : "r"(at) : "memory");
  else
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(to[0]) : "r"(at) : "memory");
}

template <int Count, class T>
TILESCOPE_DEVICE void load_matrices(T* to, const T* from) {
  unsigned int words[Count];
  tilescope_load_matrices<Count, false>(words, from);
  TILESCOPE_BUILTIN(memcpy)(to, words, sizeof(words));
}

template <int Count, class T>
TILESCOPE_DEVICE void load_matrices_transposed(T* to, const T* from) {
  unsigned int words[Count];
  tilescope_load_matrices<Count, true>(words, from);
  TILESCOPE_BUILTIN(memcpy)(to, words, sizeof(words));
}

// N registers' worth of elements.
template <int N>
struct tilescope_words {
  unsigned int at[N];
  template <class T>
  TILESCOPE_DEVICE explicit tilescope_words(const T* from) {
    TILESCOPE_BUILTIN(memcpy)(at, from, sizeof(at));
  }
};

TILESCOPE_DEVICE void multiply_matrices_16x8x8(float* d, const f16* a, const f16* b) {
  const tilescope_words<2> x{a};
  const tilescope_words<1> y{b};
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(x.at[0]), "r"(x.at[1]), "r"(y.at[0]));
}

TILESCOPE_DEVICE void multiply_matrices_16x8x8(float* d, const tf32* a, const tf32* b) {
  const tilescope_words<4> x{a};
  const tilescope_words<2> y{b};
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(x.at[0]), "r"(x.at[1]), "r"(x.at[2]), "r"(x.at[3]), "r"(y.at[0]), "r"(y.at[1]));
}

TILESCOPE_DEVICE void multiply_matrices_16x8x16(float* d, const f16* a, const f16* b) {
  const tilescope_words<4> x{a};
  const tilescope_words<2> y{b};
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(x.at[0]), "r"(x.at[1]), "r"(x.at[2]), "r"(x.at[3]), "r"(y.at[0]), "r"(y.at[1]));
}

TILESCOPE_DEVICE void multiply_matrices_16x8x16(float* d, const bf16* a, const bf16* b) {
  const tilescope_words<4> x{a};
  const tilescope_words<2> y{b};
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(x.at[0]), "r"(x.at[1]), "r"(x.at[2]), "r"(x.at[3]), "r"(y.at[0]), "r"(y.at[1]));
}

TILESCOPE_DEVICE void multiply_matrices_16x8x32(int* d, const signed char* a, const signed char* b) {
  const tilescope_words<4> x{a};
  const tilescope_words<2> y{b};
  asm volatile(
      "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
      : "r"(x.at[0]), "r"(x.at[1]), "r"(x.at[2]), "r"(x.at[3]), "r"(y.at[0]), "r"(y.at[1]));
}

#else

// All lanes of the warp come here; what each of them brought, `bytes` a lane, until it comes to the next such place.
extern "C" const void* tilescope_exchange(const void* mine, int bytes, int line);

template <int Count, bool Transposed, class T>
inline void tilescope_load_matrices(T* to, const T* from, int line) {
  struct Row {
    unsigned char at[16];
  };
  const int lane = static_cast<int>(threadIdx.x % 32);
  T mine[16 / sizeof(T)] = {};
  load_if<static_cast<int>(16 / sizeof(T))>(lane < 8 * Count, mine, from, line);
  const Row* rows = static_cast<const Row*>(tilescope_exchange(mine, 16, line));
  for (int matrix = 0; matrix < Count; ++matrix)
    for (int byte = 0; byte < 4; ++byte) {
      const int row = Transposed ? lane % 4 * 2 + byte / 2 : lane / 4;
      const int column = Transposed ? lane / 4 * 2 + byte % 2 : lane % 4 * 4 + byte;
      reinterpret_cast<unsigned char*>(to)[matrix * 4 + byte] = rows[matrix * 8 + row].at[column];
    }
}

template <int Count, class T>
inline void load_matrices(T* to, const T* from TILESCOPE_PLACE) {
  tilescope_load_matrices<Count, false>(to, from, line);
}
template <int Count, class T>
inline void load_matrices_transposed(T* to, const T* from TILESCOPE_PLACE) {
  tilescope_load_matrices<Count, true>(to, from, line);
}

// One lane's elements of matrices of 16 rows and 8 columns. Four lanes share a row of a, a column of b and a row of d;
// along k each of them has a word's elements, then come the others'.
template <int K, class Sum, class T>
inline void tilescope_multiply_matrices(Sum* d, const T* a, const T* b, int line) {
  constexpr int word = static_cast<int>(4 / sizeof(T));
  struct Part {
    T a[16 * K / 32], b[8 * K / 32];
  };
  Part mine;
  for (int i = 0; i < 16 * K / 32; ++i) mine.a[i] = a[i];
  for (int i = 0; i < 8 * K / 32; ++i) mine.b[i] = b[i];
  const Part* part = static_cast<const Part*>(tilescope_exchange(&mine, sizeof(mine), line));
  const int lane = static_cast<int>(threadIdx.x % 32);
  for (int n = 0; n < 4; ++n) {
    const int row = lane / 4 + n / 2 * 8, column = lane % 4 * 2 + n % 2;
    for (int k = 0; k < K; ++k) {
      const int owner = k / word % 4, turn = k / word / 4, rest = k % word;
      const T x = part[row % 8 * 4 + owner].a[(turn * 2 + row / 8) * word + rest];
      const T y = part[column * 4 + owner].b[turn * word + rest];
      if constexpr (sizeof(T) == 1)
        d[n] += x * y;
      else
        d[n] = fma_of(float(x), float(y), d[n]);
    }
  }
}

inline void multiply_matrices_16x8x8(float* d, const f16* a, const f16* b TILESCOPE_PLACE) {
  tilescope_multiply_matrices<8>(d, a, b, line);
}
inline void multiply_matrices_16x8x8(float* d, const tf32* a, const tf32* b TILESCOPE_PLACE) {
  tilescope_multiply_matrices<8>(d, a, b, line);
}
inline void multiply_matrices_16x8x16(float* d, const f16* a, const f16* b TILESCOPE_PLACE) {
  tilescope_multiply_matrices<16>(d, a, b, line);
}
inline void multiply_matrices_16x8x16(float* d, const bf16* a, const bf16* b TILESCOPE_PLACE) {
  tilescope_multiply_matrices<16>(d, a, b, line);
}
inline void multiply_matrices_16x8x32(int* d, const signed char* a, const signed char* b TILESCOPE_PLACE) {
  tilescope_multiply_matrices<32>(d, a, b, line);
}

#endif
