// Products that one thread issues for its block, of operands in the scratchpad, and sums in tensor memory (PTX's
// tcgen05): d += a * b, whose row l is in lane l, its columns side by side from `d` on. Operands lie as wgmma.cuh says.
// Where `adds` is 0, d is a * b alone.

#if defined(__CUDACC__)

// A column of a block's tensor memory, in lane 0.
struct tensor_memory {
  unsigned int at;
  TILESCOPE_DEVICE tensor_memory operator+(int columns) const { return {at + columns}; }
};

// The first of so many columns, a power of two. Its address passes through the scratchpad before copies go there;
// `behind`: bytes of the scratchpad, of use on the CPU alone.
template <int Columns, int Lanes>
TILESCOPE_DEVICE tensor_memory tensor_allocate(int behind) {
  volatile unsigned int* const address = shared_array<volatile unsigned int>(0);
  if (threadIdx.x < 32)
    asm volatile(
        "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], %1;\n"
        "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;" ::"r"(
            static_cast<unsigned int>(__cvta_generic_to_shared(const_cast<unsigned int*>(address)))),
        "n"(Columns)
        : "memory");
  asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
  __syncthreads();
  asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
  const tensor_memory first{*address};
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  return first;
}

// All threads of the block have read what they need of it.
template <int Columns>
TILESCOPE_DEVICE void tensor_free(tensor_memory first) {
  asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
  __syncthreads();
  asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
  if (threadIdx.x < 32)
    asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, %1;" ::"r"(first.at), "n"(Columns));
}

// The instructions that are used, for each number of columns and direction of rows.
template <class Instruction, int N, bool AlongM, bool AlongN>
struct tcgen05_of;

// The shared memory descriptor of an operand (PTX ISA, "tcgen05: Shared memory descriptor"), in units of 16 bytes.
template <bool Along, int Row, class T>
TILESCOPE_DEVICE unsigned long long tcgen05_descriptor(const T* at, int along, int deep) {
  constexpr int unit = static_cast<int>(16 / sizeof(T));
  constexpr unsigned long long swizzle = Row == 128 ? 2 : Row == 64 ? 4 : Row == 32 ? 6 : 0;
  const unsigned long long address = static_cast<unsigned long long>(__cvta_generic_to_shared(at)) & 0x3ffffull;
  const int leading = Row == 0 ? deep : Along ? along : unit, stride = Row > 0 && Along ? deep : along;
  return address >> 4 | static_cast<unsigned long long>(leading / unit) << 16 |
         static_cast<unsigned long long>(stride / unit) << 32 | 1ull << 46 | swizzle << 61;
}

template <class Instruction, int N, bool AlongM, bool AlongN, int RowA = 0, int RowB = 0, class T>
TILESCOPE_DEVICE void tcgen05_mma(bool when, tensor_memory d, const T* a, int a_along, int a_deep, const T* b,
                                  int b_along, int b_deep, int adds = 1) {
  if (when)
    tcgen05_of<Instruction, N, AlongM, AlongN>::add(d.at, tcgen05_descriptor<AlongM, RowA>(a, a_along, a_deep),
                                                    tcgen05_descriptor<AlongN, RowB>(b, b_along, b_deep), adds);
}

// An arrival once all products have ended that the thread issued.
template <int Stages>
TILESCOPE_DEVICE void tcgen05_commit(bool when, mbarrier* ring, int phase) {
  if (when)
    asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(
                     mbarrier_at<Stages>(ring, phase))
                 : "memory");
}

// At the mbarriers of the same place in all blocks of the cluster.
template <int Stages, int Blocks>
TILESCOPE_DEVICE void tcgen05_commit_cluster(bool when, mbarrier* ring, int phase) {
  if (when)
    asm volatile(
        "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%0], %1;" ::"r"(
            mbarrier_at<Stages>(ring, phase)),
        "h"(static_cast<unsigned short>((1u << Blocks) - 1))
        : "memory");
}

// Loads of so many columns of a thread's own lane, into as many registers.
template <class Sum, int N>
struct tcgen05_load_of;

// A warp has the lanes of its place among the four of a warp group.
template <int N, class Sum>
TILESCOPE_DEVICE void tcgen05_load(Sum* to, tensor_memory from) {
  asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
  tcgen05_load_of<Sum, N>::load(to, from.at + (threadIdx.x / 32 % 4 * 32 << 16));
}

#elif defined(TILESCOPE_ON_CPU)

// Moves sums between tensor memory and what the running thread has.
extern "C" void tilescope_move_sums(void* tensor, void* values, int bytes, bool writes, int line);

// A column of a block's tensor memory, which lies behind the scratchpad.
struct tensor_memory {
  char* at;
  int pitch, lanes;
  tensor_memory operator+(int columns) const { return {at + 4 * columns, pitch, lanes}; }
};

template <int Columns, int Lanes>
inline tensor_memory tensor_allocate(int behind) {
  return {static_cast<char*>(tilescope_shared()) + (behind + 15) / 16 * 16, 4 * Columns, Lanes};
}
template <int Columns>
inline void tensor_free(tensor_memory) {}

template <class Instruction, int N, bool AlongM, bool AlongN, int RowA = 0, int RowB = 0, class T>
inline void tcgen05_mma(bool when, tensor_memory d, const T* a, int a_along, int a_deep, const T* b, int b_along,
                        int b_deep, int adds = 1 TILESCOPE_PLACE) {
  if (!when) return;
  using I = Instruction;
  T rows[I::m * I::k], columns[N * I::k];
  tilescope_factor<I::m, I::k, AlongM, RowA>(rows, a, a_along, a_deep, line);
  tilescope_factor<N, I::k, AlongN, RowB>(columns, b, b_along, b_deep, line);
  for (int row = 0; row < I::m; ++row) {
    typename I::sum sums[N] = {};
    if (adds != 0) tilescope_move_sums(d.at + row * d.pitch, sums, sizeof(sums), false, line);
    for (int column = 0; column < N; ++column)
      for (int k = 0; k < I::k; ++k)
        sums[column] = tilescope_multiply_add(rows[row * I::k + k], columns[column * I::k + k], sums[column]);
    tilescope_move_sums(d.at + row * d.pitch, sums, sizeof(sums), true, line);
  }
}

// All lanes of the warp come here, of which one has issued its products.
template <int Stages>
inline void tcgen05_commit(bool, mbarrier* ring, int phase TILESCOPE_PLACE) {
  tilescope_arrive(ring, Stages, phase, 0, line);
}
template <int Stages, int Blocks>
inline void tcgen05_commit_cluster(bool, mbarrier* ring, int phase TILESCOPE_PLACE) {
  tilescope_arrive_at_cluster(ring, Stages, phase, line);
}

template <int N, class Sum>
inline void tcgen05_load(Sum* to, tensor_memory from TILESCOPE_PLACE) {
  Sum sums[N];
  tilescope_move_sums(from.at + static_cast<int>(threadIdx.x) % from.lanes * from.pitch, sums, sizeof(sums), false, line);
  for (int i = 0; i < N; ++i) to[i] = sums[i];
}

#endif
