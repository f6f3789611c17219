// Reductions over neighbouring lanes of a warp: each takes in the value of the lane 1, 2, 4, ... away, and all of them
// end with the result. All lanes of a warp come here.

#if defined(__CUDACC__)

TILESCOPE_DEVICE unsigned int shuffle_word(unsigned int mine, int apart) {
  return __shfl_xor_sync(0xffffffffu, mine, apart);
}

#elif defined(TILESCOPE_ON_CPU)

// All lanes of the group come here; what each of them brought, `bytes` a lane, until it comes to the next such place.
extern "C" const void* tilescope_exchange(const void* mine, int bytes, int lanes, int line);

#else

TILESCOPE_DEVICE unsigned int shuffle_word(unsigned int mine, int apart) {
  const unsigned int lane = __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0u));
  return static_cast<unsigned int>(__builtin_amdgcn_ds_bpermute(
      static_cast<int>((lane ^ static_cast<unsigned int>(apart)) * 4u), static_cast<int>(mine)));
}

#endif

// The value of the lane `apart` away, among Lanes that come together.
template <int Lanes, class T>
TILESCOPE_DEVICE T shuffle_xor(const T& mine, int apart TILESCOPE_PLACE) {
#if defined(TILESCOPE_ON_CPU)
  const T* const all = static_cast<const T*>(tilescope_exchange(&mine, static_cast<int>(sizeof(T)), Lanes, line));
  return all[(static_cast<int>(threadIdx.x) % Lanes) ^ apart];
#else
  unsigned int words[(sizeof(T) + 3) / 4] = {};
  memcpy(words, &mine, sizeof(T));
#pragma unroll
  for (int w = 0; w < static_cast<int>(sizeof(words) / 4); ++w) words[w] = shuffle_word(words[w], apart);
  T other;
  memcpy(&other, words, sizeof(T));
  return other;
#endif
}

TILESCOPE_DEVICE float greater_of(float a, float b) { return fmaxf(a, b); }
TILESCOPE_DEVICE double greater_of(double a, double b) { return fmax(a, b); }
TILESCOPE_DEVICE int greater_of(int a, int b) { return a < b ? b : a; }
TILESCOPE_DEVICE float lesser_of(float a, float b) { return fminf(a, b); }
TILESCOPE_DEVICE double lesser_of(double a, double b) { return fmin(a, b); }
TILESCOPE_DEVICE int lesser_of(int a, int b) { return b < a ? b : a; }

template <int Lanes, class T>
TILESCOPE_DEVICE void warp_sum(T& value TILESCOPE_PLACE) {
#pragma unroll
  for (int apart = 1; apart < Lanes; apart *= 2)
    value = static_cast<T>(value + shuffle_xor<Lanes>(value, apart TILESCOPE_HERE));
}

template <int Lanes, class T>
TILESCOPE_DEVICE void warp_max(T& value TILESCOPE_PLACE) {
#pragma unroll
  for (int apart = 1; apart < Lanes; apart *= 2)
    value = static_cast<T>(greater_of(value, shuffle_xor<Lanes>(value, apart TILESCOPE_HERE)));
}

template <int Lanes, class T>
TILESCOPE_DEVICE void warp_min(T& value TILESCOPE_PLACE) {
#pragma unroll
  for (int apart = 1; apart < Lanes; apart *= 2)
    value = static_cast<T>(lesser_of(value, shuffle_xor<Lanes>(value, apart TILESCOPE_HERE)));
}

template <int Lanes, class T>
TILESCOPE_DEVICE void warp_product(T& value TILESCOPE_PLACE) {
#pragma unroll
  for (int apart = 1; apart < Lanes; apart *= 2)
    value = static_cast<T>(value * shuffle_xor<Lanes>(value, apart TILESCOPE_HERE));
}
