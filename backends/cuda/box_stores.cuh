// Boxes of results that one thread has stored, for kernels that do; stands behind boxes.cuh and is read as that is.

#if defined(__CUDACC__)

// The thread goes on when the box has been read from the scratchpad.
template <int Dims, class T>
TILESCOPE_DEVICE void store_box_if(bool when, const T* from, const tilescope_tensor_map& tensor,
                                   const int (&at)[Dims]) {
  if (!when) return;
  const unsigned int shared = tilescope_shared_address(from);
  if constexpr (Dims == 1)
    asm volatile("cp.async.bulk.tensor.1d.global.shared::cta.tile.bulk_group [%0, {%2}], [%1];" ::"l"(&tensor),
                 "r"(shared), "r"(at[0])
                 : "memory");
  else if constexpr (Dims == 2)
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%2, %3}], [%1];" ::"l"(&tensor),
                 "r"(shared), "r"(at[0]), "r"(at[1])
                 : "memory");
  else if constexpr (Dims == 3)
    asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [%0, {%2, %3, %4}], [%1];" ::"l"(&tensor),
                 "r"(shared), "r"(at[0]), "r"(at[1]), "r"(at[2])
                 : "memory");
  else if constexpr (Dims == 4)
    asm volatile(
        "cp.async.bulk.tensor.4d.global.shared::cta.tile.bulk_group [%0, {%2, %3, %4, %5}], [%1];" ::"l"(&tensor),
        "r"(shared), "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3])
        : "memory");
  else
    asm volatile(
        "cp.async.bulk.tensor.5d.global.shared::cta.tile.bulk_group [%0, {%2, %3, %4, %5, %6}], [%1];" ::"l"(&tensor),
        "r"(shared), "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]), "r"(at[4])
        : "memory");
  asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group.read 0;" ::: "memory");
}

#else

extern "C" void tilescope_store_box(const void* from, const tilescope_tensor_map* tensor, const int* at, int dims,
                                    int line);

template <int Dims, class T>
inline void store_box_if(bool when, const T* from, const tilescope_tensor_map& tensor,
                         const int (&at)[Dims] TILESCOPE_PLACE) {
  if (when) tilescope_store_box(from, &tensor, at, Dims, line);
}

#endif
