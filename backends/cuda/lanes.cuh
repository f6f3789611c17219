
// Reductions over neighbouring lanes of a warp: each takes in the value of the lane 1, 2, 4, ... away, and all of them
// end with the result. All lanes of a warp come here.

#if defined(__CUDACC__)

TILESCOPE_DEVICE unsigned int tilescope_word_of_lane(unsigned int mine, int apart) {
  return __shfl_xor_sync(0xffffffffu, mine, apart);
}

#elif !defined(TILESCOPE_ON_CPU)

TILESCOPE_DEVICE unsigned int tilescope_word_of_lane(unsigned int mine, int apart) {
  const unsigned int lane = __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0u));
  return static_cast<unsigned int>(
      __builtin_amdgcn_ds_bpermute(static_cast<int>((lane ^ static_cast<unsigned int>(apart)) * 4u),
                                   static_cast<int>(mine)));
}

#else

// All lanes of the group come here; what each of them brought, `bytes` a lane, until it comes to the next such place.
extern "C" const void* tilescope_exchange(const void* mine, int bytes, int lanes, int line);

#endif

// What the lane `apart` away has, among `Lanes` that come together.
template <int Lanes, class T>
TILESCOPE_DEVICE T tilescope_of_lane(const T& mine, int apart TILESCOPE_PLACE) {
#if defined(TILESCOPE_ON_CPU)
  const T* const all = static_cast<const T*>(tilescope_exchange(&mine, static_cast<int>(sizeof(T)), Lanes, line));
  return all[(static_cast<int>(threadIdx.x) % Lanes) ^ apart];
#else
  unsigned int words[(sizeof(T) + 3) / 4] = {};
  TILESCOPE_BUILTIN(memcpy)(words, &mine, sizeof(T));
#pragma unroll
  for (int w = 0; w < static_cast<int>(sizeof(words) / 4); ++w) words[w] = tilescope_word_of_lane(words[w], apart);
  T other;
  TILESCOPE_BUILTIN(memcpy)(&other, words, sizeof(T));
  return other;
#endif
}

template <int Lanes, class T>
TILESCOPE_DEVICE void sum_lanes(T& value TILESCOPE_PLACE) {
#pragma unroll
  for (int apart = 1; apart < Lanes; apart *= 2)
    value = static_cast<T>(value + tilescope_of_lane<Lanes>(value, apart TILESCOPE_HERE));
}

template <int Lanes, class T>
TILESCOPE_DEVICE void max_lanes(T& value TILESCOPE_PLACE) {
#pragma unroll
  for (int apart = 1; apart < Lanes; apart *= 2)
    value = static_cast<T>(max_of(value, tilescope_of_lane<Lanes>(value, apart TILESCOPE_HERE)));
}

template <int Lanes, class T>
TILESCOPE_DEVICE void min_lanes(T& value TILESCOPE_PLACE) {
#pragma unroll
  for (int apart = 1; apart < Lanes; apart *= 2)
    value = static_cast<T>(min_of(value, tilescope_of_lane<Lanes>(value, apart TILESCOPE_HERE)));
}

template <int Lanes, class T>
TILESCOPE_DEVICE void multiply_lanes(T& value TILESCOPE_PLACE) {
#pragma unroll
  for (int apart = 1; apart < Lanes; apart *= 2)
    value = static_cast<T>(value * tilescope_of_lane<Lanes>(value, apart TILESCOPE_HERE));
}
