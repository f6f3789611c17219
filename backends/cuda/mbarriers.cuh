// Counted barriers in the scratchpad (PTX's mbarrier), which say when the data of a stage has arrived and when every
// warp has read it.

// A ring of Stages mbarriers: phase p is completion p / Stages of mbarrier p % Stages. It is over when the warps that
// were announced have arrived, and all bytes that arrivals announced. Phases before the first are over from the start.
struct mbarrier {
  unsigned long long state;
};

#if defined(__CUDACC__)

TILESCOPE_DEVICE unsigned int shared_address(const void* at) {
  return static_cast<unsigned int>(__cvta_generic_to_shared(at));
}

template <int Stages>
TILESCOPE_DEVICE unsigned int mbarrier_at(mbarrier* ring, int phase) {
  return shared_address(ring + static_cast<unsigned int>(phase + Stages) % Stages);
}

template <int Stages>
TILESCOPE_DEVICE void mbarrier_init(mbarrier* ring, int arrivals) {
  for (int i = 0; threadIdx.x == 0 && i < Stages; ++i)
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(ring + i)), "r"(arrivals) : "memory");
}

// From here on all threads and TMA may use the mbarriers.
TILESCOPE_DEVICE void mbarrier_init_fence() {
  if (threadIdx.x == 0)
    asm volatile("fence.mbarrier_init.release.cluster;\nfence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
}

// One arrival of the warp.
template <int Stages>
TILESCOPE_DEVICE void mbarrier_arrive(mbarrier* ring, int phase) {
  __syncwarp();
  if (threadIdx.x % 32 == 0)
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(mbarrier_at<Stages>(ring, phase)) : "memory");
}

template <int Stages>
TILESCOPE_DEVICE void mbarrier_arrive_expect_tx(mbarrier* ring, int phase, int bytes) {
  __syncwarp();
  if (threadIdx.x % 32 == 0)
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(mbarrier_at<Stages>(ring, phase)),
                 "r"(bytes)
                 : "memory");
}

template <int Stages>
TILESCOPE_DEVICE void mbarrier_wait(mbarrier* ring, int phase) {
  const unsigned int parity = (static_cast<unsigned int>(phase + Stages) / Stages + 1) & 1;
  for (unsigned int over = 0; over == 0;)
    asm volatile(
        "{\n.reg .pred over;\nmbarrier.try_wait.parity.shared::cta.b64 over, [%1], %2;\nselp.u32 %0, 1, 0, over;\n}\n"
        : "=r"(over)
        : "r"(mbarrier_at<Stages>(ring, phase)), "r"(parity)
        : "memory");
  __syncwarp();  // lanes leave the loop one by one
}

// At the mbarriers of the same place in all blocks of the cluster.
template <int Stages, int Blocks>
TILESCOPE_DEVICE void mbarrier_arrive_cluster(mbarrier* ring, int phase) {
  __syncwarp();
  const unsigned int block = threadIdx.x % 32;
  if (block < Blocks)
    asm volatile(
        "{\n.reg .b32 remote;\nmapa.shared::cluster.u32 remote, %0, %1;\n"
        "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [remote];\n}\n" ::"r"(mbarrier_at<Stages>(ring, phase)),
        "r"(block)
        : "memory");
}

// For mbarriers at which warps of other blocks arrive.
template <int Stages>
TILESCOPE_DEVICE void mbarrier_wait_cluster(mbarrier* ring, int phase) {
  const unsigned int parity = (static_cast<unsigned int>(phase + Stages) / Stages + 1) & 1;
  for (unsigned int over = 0; over == 0;)
    asm volatile(
        "{\n.reg .pred over;\nmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 over, [%1], %2;\n"
        "selp.u32 %0, 1, 0, over;\n}\n"
        : "=r"(over)
        : "r"(mbarrier_at<Stages>(ring, phase)), "r"(parity)
        : "memory");
  __syncwarp();
}

TILESCOPE_DEVICE void cluster_sync() {
  asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
}

// No block of the cluster ends while others may write to its scratchpad or arrive there.
TILESCOPE_DEVICE void cluster_end() {
  asm volatile("barrier.cluster.arrive;\nbarrier.cluster.wait;" ::: "memory");
}

#elif defined(TILESCOPE_ON_CPU)

#define __cluster_dims__(x, y, z)

extern "C" void tilescope_set_up_barriers(const void* ring, int slots, int arrivals, int line);
// All lanes of a warp come here; the warp arrives once.
extern "C" void tilescope_arrive(const void* ring, int slots, int use, int bytes, int line);
extern "C" void tilescope_await(const void* ring, int slots, int use, int line);
// All lanes of a warp come here; the warp arrives once in every block.
extern "C" void tilescope_arrive_at_cluster(const void* ring, int slots, int use, int line);

template <int Stages>
inline void mbarrier_init(mbarrier* ring, int arrivals TILESCOPE_PLACE) {
  if (threadIdx.x == 0) tilescope_set_up_barriers(ring, Stages, arrivals, line);
}
inline void mbarrier_init_fence(int line = __builtin_LINE()) { tilescope_barrier(line); }
template <int Stages>
inline void mbarrier_arrive(mbarrier* ring, int phase TILESCOPE_PLACE) {
  tilescope_arrive(ring, Stages, phase, 0, line);
}
template <int Stages>
inline void mbarrier_arrive_expect_tx(mbarrier* ring, int phase, int bytes TILESCOPE_PLACE) {
  tilescope_arrive(ring, Stages, phase, bytes, line);
}
template <int Stages>
inline void mbarrier_wait(mbarrier* ring, int phase TILESCOPE_PLACE) {
  tilescope_await(ring, Stages, phase, line);
}
template <int Stages, int Blocks>
inline void mbarrier_arrive_cluster(mbarrier* ring, int phase TILESCOPE_PLACE) {
  tilescope_arrive_at_cluster(ring, Stages, phase, line);
}
template <int Stages>
inline void mbarrier_wait_cluster(mbarrier* ring, int phase TILESCOPE_PLACE) {
  tilescope_await(ring, Stages, phase, line);
}
// Threads of the CPU are those of a cluster.
inline void cluster_sync(int line = __builtin_LINE()) { tilescope_barrier(line); }
inline void cluster_end(int line = __builtin_LINE()) { tilescope_barrier(line); }

#endif
