// SPDX-License-Identifier: Apache-2.0
// Random numbers of a seed, so that a failure can be run again.

export function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Runs the test with several seeds; a failure names its own. */
export function forSeeds(count: number, test: (random: () => number) => void): void {
  for (let i = 0; i < count; ++i) {
    const seed = (Date.now() + 7919 * i) % 2 ** 32;
    try {
      test(randomOf(seed));
    } catch (error) {
      throw new Error(`seed ${seed}: ${(error as Error).message}`, { cause: error });
    }
  }
}
