// SPDX-License-Identifier: Apache-2.0
import { expect, test } from 'vitest';

import { scaleOf } from '../../src/ticks';
import { forSeeds } from '../random';
import { range } from '../sample';

test('a scale holds its values and has some marks, in order and within it', () => {
  forSeeds(500, (random) => {
    const values = range(1 + Math.floor(random() * 5), () => 10 ** (random() * (random() < 0.5 ? 1 : 15)));
    for (const unit of ['us', 'B']) {
      const { min, max, ticks, log } = scaleOf(values, unit);
      expect(min).toBeLessThanOrEqual(Math.min(...values));
      expect(max).toBeGreaterThanOrEqual(Math.max(...values));
      expect(log).toBe(Math.max(...values) / Math.min(...values) > 8);
      expect(ticks.length).toBeGreaterThanOrEqual(2);
      expect(ticks.length).toBeLessThanOrEqual(7);
      ticks.forEach((t, i) => {
        expect(t).toBeGreaterThanOrEqual(min * (1 - 1e-9));
        expect(t).toBeLessThanOrEqual(max * (1 + 1e-9));
        if (i > 0) expect(t).toBeGreaterThan(ticks[i - 1] as number);
      });
    }
  });
});

test('marks are round numbers, in bytes round powers of two', () => {
  expect(scaleOf([0, 100], '').ticks).toEqual([0, 20, 40, 60, 80, 100]);
  expect(scaleOf([3, 900], '').ticks).toEqual([3, 10, 30, 100, 300, 1000]);
  expect(scaleOf([2 ** 20, 2 ** 24], 'B').ticks).toEqual([20, 21, 22, 23, 24].map((e) => 2 ** e));
  for (const t of scaleOf([65536, 262144], 'B').ticks) expect(t % 16384).toBe(0);
});

test('one value, and none, have a scale too', () => {
  expect(scaleOf([5], '').min).toBeLessThan(5);
  expect(scaleOf([5], '').max).toBeGreaterThan(5);
  expect(scaleOf([], '').ticks.length).toBeGreaterThan(1);
  expect(scaleOf([null, undefined], 'us').log).toBe(false);
});
