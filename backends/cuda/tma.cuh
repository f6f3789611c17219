// Tiles of tensors that one thread has the TMA unit copy between memory and scratchpad (PTX's cp.async.bulk.tensor).
// The tile begins at `at`, innermost coordinate first, and has its rows one after the other; elements beyond the
// tensor's ends are zeros, and are not stored. The tensor map says how large it is and how its rows are swizzled.

#if defined(__CUDACC__)

// A CUtensorMap.
struct alignas(64) tensor_map {
  unsigned long long words[16];
};

template <int Stages, class T>
TILESCOPE_DEVICE void tma_load_1d(bool when, T* to, const tensor_map& tensor, const int (&at)[1],
                                            mbarrier* ring, int phase) {
  if (when)
    asm volatile(
        "cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
        "[%0], [%1, {%3}], [%2];" ::"r"(shared_address(to)),
        "l"(&tensor), "r"(mbarrier_at<Stages>(ring, phase)), "r"(at[0])
        : "memory");
}

template <int Stages, class T>
TILESCOPE_DEVICE void tma_load_2d(bool when, T* to, const tensor_map& tensor, const int (&at)[2],
                                            mbarrier* ring, int phase) {
  if (when)
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
        "[%0], [%1, {%3, %4}], [%2];" ::"r"(shared_address(to)),
        "l"(&tensor), "r"(mbarrier_at<Stages>(ring, phase)), "r"(at[0]), "r"(at[1])
        : "memory");
}

template <int Stages, class T>
TILESCOPE_DEVICE void tma_load_3d(bool when, T* to, const tensor_map& tensor, const int (&at)[3],
                                            mbarrier* ring, int phase) {
  if (when)
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
        "[%0], [%1, {%3, %4, %5}], [%2];" ::"r"(shared_address(to)),
        "l"(&tensor), "r"(mbarrier_at<Stages>(ring, phase)), "r"(at[0]), "r"(at[1]), "r"(at[2])
        : "memory");
}

template <int Stages, class T>
TILESCOPE_DEVICE void tma_load_4d(bool when, T* to, const tensor_map& tensor, const int (&at)[4],
                                            mbarrier* ring, int phase) {
  if (when)
    asm volatile(
        "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
        "[%0], [%1, {%3, %4, %5, %6}], [%2];" ::"r"(shared_address(to)),
        "l"(&tensor), "r"(mbarrier_at<Stages>(ring, phase)), "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3])
        : "memory");
}

template <int Stages, class T>
TILESCOPE_DEVICE void tma_load_5d(bool when, T* to, const tensor_map& tensor, const int (&at)[5],
                                            mbarrier* ring, int phase) {
  if (when)
    asm volatile(
        "cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
        "[%0], [%1, {%3, %4, %5, %6, %7}], [%2];" ::"r"(shared_address(to)),
        "l"(&tensor), "r"(mbarrier_at<Stages>(ring, phase)), "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]), "r"(at[4])
        : "memory");
}

// To the same place in the scratchpads of the cluster's Blocks, where the same mbarrier counts the bytes.
template <int Stages, int Blocks, class T>
TILESCOPE_DEVICE void tma_load_multicast_1d(bool when, T* to, const tensor_map& tensor, const int (&at)[1],
                                            mbarrier* ring, int phase) {
  if (when)
    asm volatile(
        "cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster "
        "[%0], [%1, {%4}], [%2], %3;" ::"r"(shared_address(to)),
        "l"(&tensor), "r"(mbarrier_at<Stages>(ring, phase)), "h"(static_cast<unsigned short>((1u << Blocks) - 1)),
        "r"(at[0])
        : "memory");
}

// To the same place in the scratchpads of the cluster's Blocks, where the same mbarrier counts the bytes.
template <int Stages, int Blocks, class T>
TILESCOPE_DEVICE void tma_load_multicast_2d(bool when, T* to, const tensor_map& tensor, const int (&at)[2],
                                            mbarrier* ring, int phase) {
  if (when)
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster "
        "[%0], [%1, {%4, %5}], [%2], %3;" ::"r"(shared_address(to)),
        "l"(&tensor), "r"(mbarrier_at<Stages>(ring, phase)), "h"(static_cast<unsigned short>((1u << Blocks) - 1)),
        "r"(at[0]), "r"(at[1])
        : "memory");
}

// To the same place in the scratchpads of the cluster's Blocks, where the same mbarrier counts the bytes.
template <int Stages, int Blocks, class T>
TILESCOPE_DEVICE void tma_load_multicast_3d(bool when, T* to, const tensor_map& tensor, const int (&at)[3],
                                            mbarrier* ring, int phase) {
  if (when)
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster "
        "[%0], [%1, {%4, %5, %6}], [%2], %3;" ::"r"(shared_address(to)),
        "l"(&tensor), "r"(mbarrier_at<Stages>(ring, phase)), "h"(static_cast<unsigned short>((1u << Blocks) - 1)),
        "r"(at[0]), "r"(at[1]), "r"(at[2])
        : "memory");
}

// To the same place in the scratchpads of the cluster's Blocks, where the same mbarrier counts the bytes.
template <int Stages, int Blocks, class T>
TILESCOPE_DEVICE void tma_load_multicast_4d(bool when, T* to, const tensor_map& tensor, const int (&at)[4],
                                            mbarrier* ring, int phase) {
  if (when)
    asm volatile(
        "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster "
        "[%0], [%1, {%4, %5, %6, %7}], [%2], %3;" ::"r"(shared_address(to)),
        "l"(&tensor), "r"(mbarrier_at<Stages>(ring, phase)), "h"(static_cast<unsigned short>((1u << Blocks) - 1)),
        "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3])
        : "memory");
}

// To the same place in the scratchpads of the cluster's Blocks, where the same mbarrier counts the bytes.
template <int Stages, int Blocks, class T>
TILESCOPE_DEVICE void tma_load_multicast_5d(bool when, T* to, const tensor_map& tensor, const int (&at)[5],
                                            mbarrier* ring, int phase) {
  if (when)
    asm volatile(
        "cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster "
        "[%0], [%1, {%4, %5, %6, %7, %8}], [%2], %3;" ::"r"(shared_address(to)),
        "l"(&tensor), "r"(mbarrier_at<Stages>(ring, phase)), "h"(static_cast<unsigned short>((1u << Blocks) - 1)),
        "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]), "r"(at[4])
        : "memory");
}

// The thread continues when the tile has been read from the scratchpad.
template <class T>
TILESCOPE_DEVICE void tma_store_1d(bool when, const T* from, const tensor_map& tensor, const int (&at)[1]) {
  if (!when) return;
  asm volatile("cp.async.bulk.tensor.1d.global.shared::cta.tile.bulk_group [%0, {%2}], [%1];" ::"l"(&tensor),
               "r"(shared_address(from)), "r"(at[0])
               : "memory");
  asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group.read 0;" ::: "memory");
}

// The thread continues when the tile has been read from the scratchpad.
template <class T>
TILESCOPE_DEVICE void tma_store_2d(bool when, const T* from, const tensor_map& tensor, const int (&at)[2]) {
  if (!when) return;
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%2, %3}], [%1];" ::"l"(&tensor),
               "r"(shared_address(from)), "r"(at[0]), "r"(at[1])
               : "memory");
  asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group.read 0;" ::: "memory");
}

// The thread continues when the tile has been read from the scratchpad.
template <class T>
TILESCOPE_DEVICE void tma_store_3d(bool when, const T* from, const tensor_map& tensor, const int (&at)[3]) {
  if (!when) return;
  asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [%0, {%2, %3, %4}], [%1];" ::"l"(&tensor),
               "r"(shared_address(from)), "r"(at[0]), "r"(at[1]), "r"(at[2])
               : "memory");
  asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group.read 0;" ::: "memory");
}

// The thread continues when the tile has been read from the scratchpad.
template <class T>
TILESCOPE_DEVICE void tma_store_4d(bool when, const T* from, const tensor_map& tensor, const int (&at)[4]) {
  if (!when) return;
  asm volatile("cp.async.bulk.tensor.4d.global.shared::cta.tile.bulk_group "
               "[%0, {%2, %3, %4, %5}], [%1];" ::"l"(&tensor),
               "r"(shared_address(from)), "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3])
               : "memory");
  asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group.read 0;" ::: "memory");
}

// The thread continues when the tile has been read from the scratchpad.
template <class T>
TILESCOPE_DEVICE void tma_store_5d(bool when, const T* from, const tensor_map& tensor, const int (&at)[5]) {
  if (!when) return;
  asm volatile("cp.async.bulk.tensor.5d.global.shared::cta.tile.bulk_group "
               "[%0, {%2, %3, %4, %5, %6}], [%1];" ::"l"(&tensor),
               "r"(shared_address(from)), "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]), "r"(at[4])
               : "memory");
  asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group.read 0;" ::: "memory");
}

#elif defined(TILESCOPE_ON_CPU)

#define __grid_constant__

// Dimensions from the innermost on; extents, strides and boxes count elements.
struct tilescope_tensor_map {
  const void* begin;
  int element_bytes, swizzled_row, dims;
  long long extent[5], stride[5], box[5];
};
using tensor_map = tilescope_tensor_map;

extern "C" void tilescope_bring_box(void* to, const tilescope_tensor_map* tensor, const int* at, int dims,
                                    const void* ring, int slots, int use, int line);
extern "C" void tilescope_bring_box_to_cluster(void* to, const tilescope_tensor_map* tensor, const int* at, int dims,
                                               const void* ring, int slots, int use, int line);
extern "C" void tilescope_store_box(const void* from, const tilescope_tensor_map* tensor, const int* at, int dims,
                                    int line);

template <int Stages, int Dims, class T>
inline void tma_load(bool when, T* to, const tensor_map& tensor, const int (&at)[Dims], mbarrier* ring,
                     int phase TILESCOPE_PLACE) {
  if (when) tilescope_bring_box(to, &tensor, at, Dims, ring, Stages, phase, line);
}
template <int Stages, int Blocks, int Dims, class T>
inline void tma_load_multicast(bool when, T* to, const tensor_map& tensor, const int (&at)[Dims], mbarrier* ring,
                               int phase TILESCOPE_PLACE) {
  if (when) tilescope_bring_box_to_cluster(to, &tensor, at, Dims, ring, Stages, phase, line);
}
template <int Dims, class T>
inline void tma_store(bool when, const T* from, const tensor_map& tensor, const int (&at)[Dims] TILESCOPE_PLACE) {
  if (when) tilescope_store_box(from, &tensor, at, Dims, line);
}
#define tma_load_1d tma_load
#define tma_load_2d tma_load
#define tma_load_3d tma_load
#define tma_load_4d tma_load
#define tma_load_5d tma_load
#define tma_load_multicast_1d tma_load_multicast
#define tma_load_multicast_2d tma_load_multicast
#define tma_load_multicast_3d tma_load_multicast
#define tma_load_multicast_4d tma_load_multicast
#define tma_load_multicast_5d tma_load_multicast
#define tma_store_1d tma_store
#define tma_store_2d tma_store
#define tma_store_3d tma_store
#define tma_store_4d tma_store
#define tma_store_5d tma_store

#endif
