
// What blocks of a cluster do in each other's scratchpads, for kernels of clusters.
//
// bring_box_to_cluster: as bring_box, to the same place in the scratchpad of each of the cluster's Blocks, where the
// same barrier hears of the bytes. arrive_at_cluster: arrives at the same barrier of each of them.

#if defined(__CUDACC__)

template <int Slots, int Blocks>
TILESCOPE_DEVICE void arrive_at_cluster(mbarrier* ring, int use) {
  __syncwarp();
  const unsigned int block = threadIdx.x % 32;
  if (block < Blocks)
    asm volatile(
        "{\n.reg .b32 remote;\nmapa.shared::cluster.u32 remote, %0, %1;\n"
        "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [remote];\n}\n" ::"r"(tilescope_slot<Slots>(ring, use)),
        "r"(block)
        : "memory");
}

// As await, of barriers at which warps of other blocks arrive.
template <int Slots>
TILESCOPE_DEVICE void await_cluster(mbarrier* ring, int use) {
  const unsigned int slot = tilescope_slot<Slots>(ring, use), parity = tilescope_turn<Slots>(use) + 1 & 1;
  unsigned int over = 0;
  while (over == 0)
    asm volatile(
        "{\n.reg .pred over;\nmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 over, [%1], %2;\n"
        "selp.u32 %0, 1, 0, over;\n}\n"
        : "=r"(over)
        : "r"(slot), "r"(parity)
        : "memory");
  __syncwarp();
}

template <int Slots, int Blocks, int Dims, class T>
TILESCOPE_DEVICE void bring_box_to_cluster_if(bool when, T* to, const tilescope_tensor_map& tensor,
                                              const int (&at)[Dims], mbarrier* ring, int use) {
  if (!when) return;
  const unsigned int shared = tilescope_shared_address(to), slot = tilescope_slot<Slots>(ring, use);
  const unsigned short blocks = (1u << Blocks) - 1;
  if constexpr (Dims == 1)
    asm volatile(
        "cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], "
        "[%1, {%4}], [%2], %3;" ::"r"(shared), "l"(&tensor), "r"(slot), "h"(blocks), "r"(at[0])
        : "memory");
  else if constexpr (Dims == 2)
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], "
        "[%1, {%4, %5}], [%2], %3;" ::"r"(shared), "l"(&tensor), "r"(slot), "h"(blocks), "r"(at[0]), "r"(at[1])
        : "memory");
  else if constexpr (Dims == 3)
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], "
        "[%1, {%4, %5, %6}], [%2], %3;" ::"r"(shared), "l"(&tensor), "r"(slot), "h"(blocks), "r"(at[0]), "r"(at[1]), "r"(at[2])
        : "memory");
  else if constexpr (Dims == 4)
    asm volatile(
        "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], "
        "[%1, {%4, %5, %6, %7}], [%2], %3;" ::"r"(shared), "l"(&tensor), "r"(slot), "h"(blocks), "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3])
        : "memory");
  else
    asm volatile(
        "cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], "
        "[%1, {%4, %5, %6, %7, %8}], [%2], %3;" ::"r"(shared), "l"(&tensor), "r"(slot), "h"(blocks), "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]), "r"(at[4])
        : "memory");
}

// No block of the cluster goes away while others may write to its scratchpad or arrive there.
TILESCOPE_DEVICE void cluster_ends() {
  asm volatile("barrier.cluster.arrive;\nbarrier.cluster.wait;" ::: "memory");
}

#else

#define __cluster_dims__(x, y, z)

extern "C" {
// All lanes of a warp come here; the warp arrives once in every block.
void tilescope_arrive_at_cluster(const void* ring, int slots, int use, int line);
void tilescope_bring_box_to_cluster(void* to, const tilescope_tensor_map* tensor, const int* at, int dims,
                                    const void* ring, int slots, int use, int line);
}

template <int Slots, int Blocks>
inline void arrive_at_cluster(mbarrier* ring, int use TILESCOPE_PLACE) {
  tilescope_arrive_at_cluster(ring, Slots, use, line);
}
template <int Slots>
inline void await_cluster(mbarrier* ring, int use TILESCOPE_PLACE) {
  tilescope_await(ring, Slots, use, line);
}
template <int Slots, int Blocks, int Dims, class T>
inline void bring_box_to_cluster_if(bool when, T* to, const tilescope_tensor_map& tensor, const int (&at)[Dims],
                                    mbarrier* ring, int use TILESCOPE_PLACE) {
  if (when) tilescope_bring_box_to_cluster(to, &tensor, at, Dims, ring, Slots, use, line);
}
inline void cluster_ends(int line = __builtin_LINE()) { tilescope_barrier(line); }
#endif
