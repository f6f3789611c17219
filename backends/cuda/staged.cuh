// What the lanes of several warps do together with factors that stay in the scratchpad: d += a * b, each lane's part of
// d being what the instruction says, fragments of its columns side by side (PTX: wgmma). Of multiply_held lanes hold a.
//
// A factor lies in core matrices of eight rows of 16 bytes, `along` elements from one to the next along m or n and
// `deep` along k; its rows run along k or, transposed, along m or n. Where RowA or RowB is not 0, rows have so many
// bytes and their pieces of 16 bytes have changed places (PTX calls it swizzling by that many). Products run by
// themselves from begin_products to end_products, which alone may touch the sums before and after; publish() shows them
// what its thread wrote or waited for, once all threads have met. Where `adds` is 0, d is a * b alone.

#if defined(__CUDACC__)

// The instructions that are used, for each number of columns and way that rows run, stand below.
template <class Instruction, int N, bool AlongM, bool AlongN>
struct tilescope_products;

// What an instruction is told of a factor (PTX ISA, "Matrix-descriptor"): units of 16 bytes; of swizzled rows, how far
// it is from panel to panel (nobody asks where rows run along k), and then from eight rows to the next eight.
template <bool Along, int Row, class T>
TILESCOPE_DEVICE unsigned long long tilescope_factor(const T* at, int along, int deep) {
  constexpr int unit = static_cast<int>(16 / sizeof(T));
  constexpr unsigned long long mode = Row == 128 ? 1 : Row == 64 ? 2 : Row == 32 ? 3 : 0;
  const unsigned long long address = static_cast<unsigned long long>(__cvta_generic_to_shared(at)) & 0x3ffffull;
  const int leading = Row == 0 ? deep : Along ? along : unit, stride = Row > 0 && Along ? deep : along;
  return address >> 4 | static_cast<unsigned long long>(leading / unit) << 16 |
         static_cast<unsigned long long>(stride / unit) << 32 | mode << 62;
}

template <class Instruction, int N, bool AlongM, bool AlongN, int RowA = 0, int RowB = 0, class Sum, class T>
TILESCOPE_DEVICE void multiply_staged(Sum* d, const T* a, int a_along, int a_deep, const T* b, int b_along,
                                      int b_deep, int adds = 1) {
  tilescope_products<Instruction, N, AlongM, AlongN>::add(d, tilescope_factor<AlongM, RowA>(a, a_along, a_deep),
                                                          tilescope_factor<AlongN, RowB>(b, b_along, b_deep), adds);
}

// Instructions whose first factor lanes hold.
template <class Instruction, int N, bool AlongN>
struct tilescope_held_products;

template <class Instruction, int N, bool AlongN, int RowB = 0, class Sum, class T>
TILESCOPE_DEVICE void multiply_held(Sum* d, const T* a, const T* b, int b_along, int b_deep, int adds = 1) {
  tilescope_held_products<Instruction, N, AlongN>::add(d, a, tilescope_factor<AlongN, RowB>(b, b_along, b_deep), adds);
}

// Keeps the compiler from moving what is done with the sums past this place.
TILESCOPE_DEVICE void tilescope_pin(float& sum) { asm volatile("" : "+f"(sum)::"memory"); }
TILESCOPE_DEVICE void tilescope_pin(int& sum) { asm volatile("" : "+r"(sum)::"memory"); }
template <class Sum, int Count>
TILESCOPE_DEVICE void tilescope_pin_all(Sum (&sums)[Count]) {
#pragma unroll
  for (int i = 0; i < Count; ++i) tilescope_pin(sums[i]);
}

template <class Sum, int Count>
TILESCOPE_DEVICE void begin_products(Sum (&sums)[Count]) {
  tilescope_pin_all(sums);
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

// The same with factors that lanes hold, which are there before the fence.
template <class Sum, int Count, class T, int Held>
TILESCOPE_DEVICE void begin_products(Sum (&sums)[Count], T (&held)[Held]) {
  constexpr int each = static_cast<int>(4 / sizeof(T));
#pragma unroll
  for (int i = 0; i < Held; i += each) {
    unsigned int word;
    TILESCOPE_BUILTIN(memcpy)(&word, &held[i], sizeof(word));
    asm volatile("" : "+r"(word)::"memory");
    TILESCOPE_BUILTIN(memcpy)(&held[i], &word, sizeof(word));
  }
  begin_products(sums);
}

template <class Sum, int Count>
TILESCOPE_DEVICE void end_products(Sum (&sums)[Count]) {
  asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;" ::: "memory");
  tilescope_pin_all(sums);
}

TILESCOPE_DEVICE void publish() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

#else

// What the instruction, not the thread, reads of the scratchpad: 16 bytes.
extern "C" void tilescope_read_staged(void* to, const void* at, int line);

// Where a piece of 16 bytes is that would be at `at` in rows without swizzling.
template <int Row, class T>
inline const T* tilescope_swizzled(const T* at) {
  if constexpr (Row == 0) return at;
  const unsigned long long byte = reinterpret_cast<unsigned long long>(at);
  return reinterpret_cast<const T*>(byte ^ (byte >> 7 & (Row / 16 - 1)) << 4);
}

// A factor of `Count` rows or columns, K elements of each side by side.
template <int Count, int K, bool Along, int Row, class T>
inline void tilescope_factor(T (&to)[Count * K], const T* at, int along, int deep, int line) {
  constexpr int piece = static_cast<int>(16 / sizeof(T)), rows = Along ? K : Count, columns = Along ? Count : K;
  constexpr int width = Row > 0 ? static_cast<int>(Row / sizeof(T)) : piece;
  const int below = Along ? deep : along, beside = Along ? along : deep;
  for (int row = 0; row < rows; ++row)
    for (int column = 0; column < columns; column += piece) {
      T read[piece];
      const T* const from = at + row / 8 * below + row % 8 * width + column / width * beside + column % width;
      tilescope_read_staged(read, tilescope_swizzled<Row>(from), line);
      for (int i = 0; i < piece; ++i) to[Along ? (column + i) * K + row : row * K + column + i] = read[i];
    }
}

template <class Instruction, int N, bool AlongM, bool AlongN, int RowA = 0, int RowB = 0, class Sum, class T>
inline void multiply_staged(Sum* d, const T* a, int a_along, int a_deep, const T* b, int b_along,
                            int b_deep, int adds = 1 TILESCOPE_PLACE) {
  using I = Instruction;
  T rows[I::m * I::k], columns[N * I::k];
  tilescope_factor<I::m, I::k, AlongM, RowA>(rows, a, a_along, a_deep, line);
  tilescope_factor<N, I::k, AlongN, RowB>(columns, b, b_along, b_deep, line);
  const int lane = static_cast<int>(threadIdx.x) % I::lanes;
  for (int i = 0; i < N / I::n * I::held_of_d; ++i) {
    const int place = I::place_in_d(lane, i % I::held_of_d), row = place / I::n;
    const int column = i / I::held_of_d * I::n + place % I::n;
    if (adds == 0) d[i] = 0;
    for (int k = 0; k < I::k; ++k)
      d[i] = tilescope_multiply_add(rows[row * I::k + k], columns[column * I::k + k], d[i]);
  }
}

// Every lane has what all lanes of the group hold of the first factor.
template <class Instruction, int N, bool AlongN, int RowB = 0, class Sum, class T>
inline void multiply_held(Sum* d, const T* a, const T* b, int b_along, int b_deep, int adds = 1 TILESCOPE_PLACE) {
  using I = Instruction;
  static constexpr tilescope_holders<I::m * I::k> holders(I::lanes, I::held_of_a, &I::place_in_a);
  struct Part {
    T a[I::held_of_a];
  };
  Part mine;
  for (int i = 0; i < I::held_of_a; ++i) mine.a[i] = a[i];
  const Part* const part = static_cast<const Part*>(tilescope_exchange(&mine, sizeof(mine), I::lanes, line));
  T columns[N * I::k];
  tilescope_factor<N, I::k, AlongN, RowB>(columns, b, b_along, b_deep, line);
  const int lane = static_cast<int>(threadIdx.x) % I::lanes;
  for (int i = 0; i < N / I::n * I::held_of_d; ++i) {
    const int place = I::place_in_d(lane, i % I::held_of_d), row = place / I::n;
    const int column = i / I::held_of_d * I::n + place % I::n;
    if (adds == 0) d[i] = 0;
    for (int k = 0; k < I::k; ++k) {
      const int x = holders.of[row * I::k + k];
      d[i] = tilescope_multiply_add(part[x / I::held_of_a].a[x % I::held_of_a], columns[column * I::k + k], d[i]);
    }
  }
}

template <class Sum, int Count>
inline void begin_products(Sum (&)[Count]) {}
template <class Sum, int Count, class T, int Held>
inline void begin_products(Sum (&)[Count], T (&)[Held]) {}
template <class Sum, int Count>
inline void end_products(Sum (&)[Count]) {}
inline void publish() {}

#endif
