// SPDX-License-Identifier: Apache-2.0
import { expect, test } from 'vitest';

import { count, number, parseQuantity, percent, quantity, ratio, time } from '../../src/format';
import { forSeeds } from '../random';

test('quantities have the unit that keeps them short', () => {
  expect(time(0.0123)).toBe('12.3 ns');
  expect(time(1)).toBe('1 us');
  expect(time(11234.5)).toBe('11.23 ms');
  expect(time(2.5e6)).toBe('2.5 s');
  expect(time(0)).toBe('0 ns');
  expect(quantity(98304, 'B')).toBe('96 KiB');
  expect(quantity(1000, 'B')).toBe('1000 B');
  expect(quantity(14.13e12, 'FLOP/s')).toBe('14.13 TFLOP/s');
  expect(quantity(897.8e9, 'B/s')).toBe('897.8 GB/s');
  expect(quantity(1.38e9, 'Hz')).toBe('1.38 GHz');
  expect(quantity(32, '')).toBe('32');
  expect(quantity(28, 'cycles')).toBe('28 cycles');
  expect(quantity(null, 'B')).toBe('unknown');
});

test('ratios, shares, numbers and counts', () => {
  expect(ratio(1)).toBe('1.00x');
  expect(ratio(0.83249)).toBe('0.832x');
  expect(ratio(12.34)).toBe('12.3x');
  expect(ratio(12345)).toBe('12345x');
  expect(ratio(null)).toBe('');
  expect(percent(0.12345)).toBe('12.3 %');
  expect(number(0)).toBe('0');
  expect(number(1.23456e-9)).toBe('1.235e-9');
  expect(number(NaN)).toBe('');
  expect(count(1, 'chip')).toBe('1 chip');
  expect(count(20000, 'chip')).toBe('20,000 chips');
});

test('what is written is read as the same, to four digits', () => {
  forSeeds(300, (random) => {
    for (const unit of ['us', 'B', 'B/s', 'FLOP/s', 'Hz', 'cycles', '']) {
      const x = 10 ** (random() * 12);
      const read = parseQuantity(quantity(x, unit), unit);
      expect(Math.abs((read ?? NaN) / x - 1)).toBeLessThan(6e-4);
    }
  });
});

test('a quantity with another unit, or none at all, is not read', () => {
  expect(parseQuantity('96KiB', 'B')).toBe(98304);
  expect(parseQuantity('1.38 ghz', 'Hz')).toBe(1.38e9);
  expect(parseQuantity('12', 'Hz')).toBe(12);
  expect(parseQuantity('12 GHz', 'B')).toBeNull();
  expect(parseQuantity('construct', '')).toBeNull();
  expect(parseQuantity('', '')).toBeNull();
});
