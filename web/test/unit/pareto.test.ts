// SPDX-License-Identifier: Apache-2.0
import { expect, test } from 'vitest';

import { cheapest, paretoFront, type Cost } from '../../src/pareto';
import { forSeeds } from '../random';
import { range } from '../sample';

/** By comparing every point with every other one. */
function bruteForce(first: Cost, second: Cost, among: readonly number[]): number[] {
  const known = among.filter((i) => typeof first[i] === 'number' && typeof second[i] === 'number');
  const beats = (i: number, j: number) => {
    const [a, b] = [first[i] as number, second[i] as number];
    const [c, d] = [first[j] as number, second[j] as number];
    return a <= c && b <= d && (a < c || b < d || i < j);
  };
  return known.filter((j) => !known.some((i) => beats(i, j)));
}

test('the front is what comparing all pairs leaves', () => {
  forSeeds(200, (random) => {
    const n = Math.floor(random() * 40);
    const few = 1 + Math.floor(random() * 12); // few values make many ties
    const column = (): Cost => range(n, () => (random() < 0.1 ? null : Math.floor(random() * few)));
    const [first, second] = [column(), column()];
    const among = range(n, (i) => i).filter(() => random() < 0.8);
    const front = paretoFront(first, second, among);
    expect([...front].sort((a, b) => a - b)).toEqual(bruteForce(first, second, among));
    const costs = front.map((i) => first[i] as number);
    expect(costs).toEqual([...costs].sort((a, b) => a - b));
  });
});

test('a front of nothing is empty, of equal points the first', () => {
  expect(paretoFront([], [], [])).toEqual([]);
  expect(paretoFront([null], [1], [0])).toEqual([]);
  expect(paretoFront([2, 2, 2], [3, 3, 3], [0, 1, 2])).toEqual([0]);
});

test('the cheapest is the first of the least', () => {
  expect(cheapest([3, null, 1, 1], [0, 1, 2, 3])).toBe(2);
  expect(cheapest([3, null, 1, 1], [0, 1])).toBe(0);
  expect(cheapest([null], [0])).toBeNull();
});
