// What 128 lanes of four warps do together with factors that stay in the scratchpad: d += a * b, each lane's part of d
// being what PTX's wgmma says.
//
// A factor lies in core matrices of eight rows of 16 bytes, `along` elements from one to the next along m or n and
// `deep` along k; its rows run along k or, transposed, along m or n. Products run by themselves from begin_products to
// end_products, which alone may touch the sums before and after; publish() shows them what its thread wrote or waited
// for, once all threads have met.

#if defined(__CUDACC__)

// The instructions that are used, for each number of columns, dtype and way that rows run, stand below.
template <int N, bool AlongM, bool AlongN, class T>
struct tilescope_products;

// What an instruction is told of a factor (PTX ISA, "Matrix-descriptor"): units of 16 bytes, no swizzling.
template <class T>
TILESCOPE_DEVICE unsigned long long tilescope_factor(const T* at, int along, int deep) {
  constexpr int unit = static_cast<int>(16 / sizeof(T));
  const unsigned long long address = static_cast<unsigned long long>(__cvta_generic_to_shared(at)) & 0x3ffffull;
  return address >> 4 | static_cast<unsigned long long>(deep / unit) << 16 |
         static_cast<unsigned long long>(along / unit) << 32;
}

template <int M, int N, int K, bool AlongM, bool AlongN, class T>
TILESCOPE_DEVICE void multiply_staged(float* d, const T* a, int a_along, int a_deep, const T* b, int b_along,
                                      int b_deep) {
  tilescope_products<N, AlongM, AlongN, T>::add(d, tilescope_factor(a, a_along, a_deep),
                                                tilescope_factor(b, b_along, b_deep));
}

// Keeps the compiler from moving what is done with the sums past this place.
template <int Count>
TILESCOPE_DEVICE void tilescope_pin(float (&sums)[Count]) {
#pragma unroll
  for (int i = 0; i < Count; ++i) asm volatile("" : "+f"(sums[i])::"memory");
}

template <int Count>
TILESCOPE_DEVICE void begin_products(float (&sums)[Count]) {
  tilescope_pin(sums);
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

template <int Count>
TILESCOPE_DEVICE void end_products(float (&sums)[Count]) {
  asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;" ::: "memory");
  tilescope_pin(sums);
}

TILESCOPE_DEVICE void publish() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

#else

// What the instruction, not the thread, reads of the scratchpad: 16 bytes.
extern "C" void tilescope_read_staged(void* to, const void* at, int line);

// A factor of `Count` rows or columns, K elements of each side by side.
template <int Count, int K, bool Along, class T>
inline void tilescope_factor(T (&to)[Count * K], const T* at, int along, int deep, int line) {
  constexpr int piece = static_cast<int>(16 / sizeof(T)), rows = Along ? K : Count, columns = Along ? Count : K;
  const int below = Along ? deep : along, beside = Along ? along : deep;
  for (int row = 0; row < rows; ++row)
    for (int column = 0; column < columns; column += piece) {
      T read[piece];
      tilescope_read_staged(read, at + row / 8 * below + column / piece * beside + row % 8 * piece, line);
      for (int i = 0; i < piece; ++i) to[Along ? (column + i) * K + row : row * K + column + i] = read[i];
    }
}

template <int M, int N, int K, bool AlongM, bool AlongN, class T>
inline void multiply_staged(float* d, const T* a, int a_along, int a_deep, const T* b, int b_along,
                            int b_deep TILESCOPE_PLACE) {
  T rows[M * K], columns[N * K];
  tilescope_factor<M, K, AlongM>(rows, a, a_along, a_deep, line);
  tilescope_factor<N, K, AlongN>(columns, b, b_along, b_deep, line);
  const int lane = static_cast<int>(threadIdx.x % 128);
  for (int n = 0; n < M * N / 128; ++n) {
    const int row = lane / 32 * 16 + lane % 32 / 4 + n % 4 / 2 * 8, column = n / 4 * 8 + lane % 4 * 2 + n % 2;
    for (int k = 0; k < K; ++k) d[n] = fma_of(float(rows[row * K + k]), float(columns[column * K + k]), d[n]);
  }
}

template <int Count>
inline void begin_products(float (&)[Count]) {}
template <int Count>
inline void end_products(float (&)[Count]) {}
inline void publish() {}

#endif
