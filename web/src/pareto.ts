// SPDX-License-Identifier: Apache-2.0
// Which points no other point beats.

/** A cost of a point that is to be small; one that is null puts the point out of the comparison. */
export type Cost = (number | null | undefined)[];

/**
 * The points of `among` that no other one of them beats: none is at most as costly in both and less in one. Of equal
 * points the first stands for all. In the order of the first cost, hence of falling second cost.
 */
export function paretoFront(first: Cost, second: Cost, among: readonly number[]): number[] {
  const known = among.filter((i) => Number.isFinite(first[i] ?? NaN) && Number.isFinite(second[i] ?? NaN));
  const a = (i: number) => first[i] as number;
  const b = (i: number) => second[i] as number;
  known.sort((i, j) => a(i) - a(j) || b(i) - b(j) || i - j);
  const front: number[] = [];
  let least = Infinity;
  for (const i of known)
    if (b(i) < least) {
      least = b(i);
      front.push(i);
    }
  return front;
}

/** Of the points, the one that costs least; the first of equals, null where none is known. */
export function cheapest(cost: Cost, among: readonly number[]): number | null {
  let best: number | null = null;
  for (const i of among) {
    const c = cost[i];
    if (c !== null && c !== undefined && (best === null || c < (cost[best] as number))) best = i;
  }
  return best;
}
