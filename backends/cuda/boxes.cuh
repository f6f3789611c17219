
// Boxes of tensors that one thread has brought into the scratchpad, and counted barriers (PTX's mbarrier) that tell
// when they have come and when every warp has read them.
//
// A ring of Slots barriers is used again and again: use u is phase u / Slots of slot u % Slots. It is over when as many
// warps as were said have arrived and all bytes have come that arrivals said were to come. await() of a use of the turn
// before the first passes at once.
// bring_box: the box that begins at `at`, innermost coordinate first, its rows one after the other, zeros beyond the
// tensor's ends. The tensor map says how large it is, and how wide are the rows whose pieces of 16 bytes change places.

struct mbarrier {
  unsigned long long state;
};

#if defined(__CUDACC__)

// A CUtensorMap, whatever it holds.
struct alignas(64) tilescope_tensor_map {
  unsigned long long words[16];
};

TILESCOPE_DEVICE unsigned int tilescope_shared_address(const void* at) {
  return static_cast<unsigned int>(__cvta_generic_to_shared(at));
}

// Turn 0 is the one before the first.
template <int Slots>
TILESCOPE_DEVICE unsigned int tilescope_turn(int use) {
  return static_cast<unsigned int>(use + Slots) / Slots;
}
template <int Slots>
TILESCOPE_DEVICE unsigned int tilescope_slot(mbarrier* ring, int use) {
  return tilescope_shared_address(ring + static_cast<unsigned int>(use + Slots) % Slots);
}

template <int Slots>
TILESCOPE_DEVICE void set_up_barriers(mbarrier* ring, int arrivals) {
  if (threadIdx.x != 0) return;
#pragma unroll
  for (int slot = 0; slot < Slots; ++slot)
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(tilescope_shared_address(ring + slot)), "r"(arrivals)
                 : "memory");
}

// From here on all threads and what brings boxes may use the barriers that were set up.
TILESCOPE_DEVICE void barriers_are_set_up() {
  if (threadIdx.x == 0)
    asm volatile("fence.mbarrier_init.release.cluster;\nfence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
}

template <int Slots>
TILESCOPE_DEVICE void arrive(mbarrier* ring, int use) {
  __syncwarp();
  if (threadIdx.x % 32 == 0)
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(tilescope_slot<Slots>(ring, use)) : "memory");
}

template <int Slots>
TILESCOPE_DEVICE void arrive(mbarrier* ring, int use, int bytes) {
  __syncwarp();
  if (threadIdx.x % 32 == 0)
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(tilescope_slot<Slots>(ring, use)),
                 "r"(bytes)
                 : "memory");
}

template <int Slots>
TILESCOPE_DEVICE void await(mbarrier* ring, int use) {
  const unsigned int slot = tilescope_slot<Slots>(ring, use), parity = tilescope_turn<Slots>(use) + 1 & 1;
  unsigned int over = 0;
  while (over == 0)
    asm volatile(
        "{\n.reg .pred over;\nmbarrier.try_wait.parity.shared::cta.b64 over, [%1], %2;\nselp.u32 %0, 1, 0, over;\n}\n"
        : "=r"(over)
        : "r"(slot), "r"(parity)
        : "memory");
  __syncwarp();  // lanes leave the loop one by one, and what follows wants the warp together
}

template <int Slots, int Dims, class T>
TILESCOPE_DEVICE void bring_box_if(bool when, T* to, const tilescope_tensor_map& tensor, const int (&at)[Dims],
                                   mbarrier* ring, int use) {
  if (!when) return;
  const unsigned int shared = tilescope_shared_address(to), slot = tilescope_slot<Slots>(ring, use);
  if constexpr (Dims == 1)
    asm volatile(
        "cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3}], [%2];" ::
            "r"(shared), "l"(&tensor), "r"(slot), "r"(at[0])
        : "memory");
  else if constexpr (Dims == 2)
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], "
        "[%2];" ::"r"(shared), "l"(&tensor), "r"(slot), "r"(at[0]), "r"(at[1])
        : "memory");
  else if constexpr (Dims == 3)
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5}], "
        "[%2];" ::"r"(shared), "l"(&tensor), "r"(slot), "r"(at[0]), "r"(at[1]), "r"(at[2])
        : "memory");
  else if constexpr (Dims == 4)
    asm volatile(
        "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, "
        "%6}], [%2];" ::"r"(shared), "l"(&tensor), "r"(slot), "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3])
        : "memory");
  else
    asm volatile(
        "cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6, "
        "%7}], [%2];" ::"r"(shared), "l"(&tensor), "r"(slot), "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]), "r"(at[4])
        : "memory");
}

#else

#define __grid_constant__

// Dimensions from the innermost on; extents, strides and boxes count elements.
struct tilescope_tensor_map {
  const void* begin;
  int element_bytes, swizzled_row, dims;
  long long extent[5], stride[5], box[5];
};

extern "C" {
void tilescope_set_up_barriers(const void* ring, int slots, int arrivals, int line);
// All lanes of a warp come here; the warp arrives once.
void tilescope_arrive(const void* ring, int slots, int use, int bytes, int line);
void tilescope_await(const void* ring, int slots, int use, int line);
void tilescope_bring_box(void* to, const tilescope_tensor_map* tensor, const int* at, int dims, const void* ring,
                         int slots, int use, int line);
}

template <int Slots>
inline void set_up_barriers(mbarrier* ring, int arrivals TILESCOPE_PLACE) {
  if (threadIdx.x == 0) tilescope_set_up_barriers(ring, Slots, arrivals, line);
}
inline void barriers_are_set_up(int line = __builtin_LINE()) { tilescope_barrier(line); }
template <int Slots>
inline void arrive(mbarrier* ring, int use, int bytes = 0 TILESCOPE_PLACE) {
  tilescope_arrive(ring, Slots, use, bytes, line);
}
template <int Slots>
inline void await(mbarrier* ring, int use TILESCOPE_PLACE) {
  tilescope_await(ring, Slots, use, line);
}
template <int Slots, int Dims, class T>
inline void bring_box_if(bool when, T* to, const tilescope_tensor_map& tensor, const int (&at)[Dims], mbarrier* ring,
                         int use TILESCOPE_PLACE) {
  if (when) tilescope_bring_box(to, &tensor, at, Dims, ring, Slots, use, line);
}
#endif
