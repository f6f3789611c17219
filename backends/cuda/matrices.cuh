// What lanes do together: loads of rows and matrix instructions, which stand below with the text that the chip has for
// them and, for the CPU, with where in the matrices each lane's elements are.

#if !defined(TILESCOPE_ON_CPU)

// N registers' worth of elements.
template <int N>
struct lane_words {
  unsigned int at[N];
  template <class T>
  TILESCOPE_DEVICE explicit lane_words(const T* from) {
    memcpy(at, from, sizeof(at));
  }
};

// Lane l of the first ones gives where row l begins; every lane then has the elements of those rows that Rows says.
template <class Rows, class T>
TILESCOPE_DEVICE void ldmatrix(T* to, const T* from) {
  unsigned int words[Rows::words];
  Rows::load(words, from);
  memcpy(to, words, sizeof(words));
}

// d += a * b of a warp, each lane's part of the matrices being what the instruction says.
template <class Instruction, class Sum, class T>
TILESCOPE_DEVICE void mma(Sum* d, const T* a, const T* b) {
  Instruction::add(d, a, b);
}

#else

template <class Rows, class T>
inline void ldmatrix(T* to, const T* from TILESCOPE_PLACE) {
  constexpr int lanes = Rows::lanes, columns = Rows::columns;
  const int lane = static_cast<int>(threadIdx.x) % lanes;
  T mine[columns] = {};
  load_if<columns>(lane < Rows::rows, mine, from, line);
  const T* const rows = static_cast<const T*>(tilescope_exchange(mine, static_cast<int>(sizeof(mine)), lanes, line));
  for (int i = 0; i < Rows::held; ++i) to[i] = rows[Rows::place(lane, i)];
}

// Which of all lanes' elements, those of a lane side by side, is the one at each place of a matrix.
template <int Places>
struct tilescope_holders {
  int of[Places];
  constexpr tilescope_holders(int lanes, int held, int (*place)(int lane, int i)) : of{} {
    for (int h = 0; h < lanes * held; ++h) of[place(h / held, h % held)] = h;
  }
};

// Products of a row of a and a column of b are added one after the other.
template <class T>
inline int tilescope_multiply_add(T a, T b, int sum) {
  const auto product = static_cast<unsigned int>(int(a)) * static_cast<unsigned int>(int(b));
  return static_cast<int>(static_cast<unsigned int>(sum) + product);
}
template <class T>
inline float tilescope_multiply_add(T a, T b, float sum) {
  return fmaf(float(a), float(b), sum);
}
template <class T>
inline double tilescope_multiply_add(T a, T b, double sum) {
  return fma(double(a), double(b), sum);
}

template <class Instruction, class Sum, class T>
inline void mma(Sum* d, const T* a, const T* b TILESCOPE_PLACE) {
  using I = Instruction;
  static constexpr tilescope_holders<I::m * I::k> holders_of_a(I::lanes, I::held_of_a, &I::place_in_a);
  static constexpr tilescope_holders<I::k * I::n> holders_of_b(I::lanes, I::held_of_b, &I::place_in_b);
  struct Part {
    T a[I::held_of_a], b[I::held_of_b];
  };
  Part mine;
  for (int i = 0; i < I::held_of_a; ++i) mine.a[i] = a[i];
  for (int i = 0; i < I::held_of_b; ++i) mine.b[i] = b[i];
  const Part* const part = static_cast<const Part*>(tilescope_exchange(&mine, sizeof(mine), I::lanes, line));
  const int lane = static_cast<int>(threadIdx.x) % I::lanes;
  for (int i = 0; i < I::held_of_d; ++i) {
    const int place = I::place_in_d(lane, i), row = place / I::n, column = place % I::n;
    for (int k = 0; k < I::k; ++k) {
      const int x = holders_of_a.of[row * I::k + k], y = holders_of_b.of[column * I::k + k];
      d[i] = tilescope_multiply_add(part[x / I::held_of_a].a[x % I::held_of_a],
                                    part[y / I::held_of_b].b[y % I::held_of_b], d[i]);
    }
  }
}

#endif
