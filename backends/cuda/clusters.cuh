// Barriers of all blocks of a cluster, for kernels that have them.

#if defined(__CUDACC__)

TILESCOPE_DEVICE void cluster_barrier() {
  asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
}

#else

// A cluster of one block.
inline void cluster_barrier(int line = __builtin_LINE()) { tilescope_barrier(line); }

#endif
