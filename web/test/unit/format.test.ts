// SPDX-License-Identifier: Apache-2.0
import { expect, test } from 'vitest';

import { count, number, parseQuantity, percent, quantity, ratio, readable, time, written } from '../../src/format';
import { forSeeds } from '../random';

test('quantities have the unit that keeps them short', () => {
  expect(time(0.0123)).toBe('12.3 ns');
  expect(time(1)).toBe('1 us');
  expect(time(11234.5)).toBe('11.23 ms');
  expect(time(2.5e6)).toBe('2.5 s');
  expect(time(0)).toBe('0 us');
  expect(quantity(0, 'J')).toBe('0 J');
  expect(quantity(0, '')).toBe('0');
  expect(quantity(98304, 'B')).toBe('96 KiB');
  expect(quantity(1000, 'B')).toBe('1000 B');
  expect(quantity(14.13e12, 'FLOP/s')).toBe('14.13 TFLOP/s');
  expect(quantity(897.8e9, 'B/s')).toBe('897.8 GB/s');
  expect(quantity(1.38e9, 'Hz')).toBe('1.38 GHz');
  expect(quantity(32, '')).toBe('32');
  expect(quantity(28, 'cycles')).toBe('28 cycles');
  expect(quantity(null, 'B')).toBe('unknown');
});

test('energy, power, area and price are read at a glance', () => {
  expect(quantity(0.4720184, 'J')).toBe('472 mJ');
  expect(quantity(12500, 'J')).toBe('12.5 kJ');
  expect(quantity(4.2e9, 'pJ')).toBe('4.2 mJ');
  expect(quantity(1234, 'uJ')).toBe('1.234 mJ');
  expect(quantity(2.5, 'mJ')).toBe('2.5 mJ');
  expect(quantity(3, 's')).toBe('3 s');
  expect(quantity(0.0021, 's')).toBe('2.1 ms');
  expect(quantity(297.42, 'W')).toBe('297.4 W');
  expect(quantity(611.96, 'mm2')).toBe('612 mm²');
  expect(quantity(4999.4, 'USD')).toBe('$4,999');
  expect(quantity(12.5, 'USD')).toBe('$12.50');
  expect(quantity(1234567, 'USD')).toBe('$1,235,000');
  expect(quantity(0, 'USD')).toBe('$0');
  expect(quantity(null, 'USD')).toBe('unknown');
  expect(written(4999.4, 'USD')).toBe('4999 USD');
  expect(written(611.96, 'mm2')).toBe('612 mm2');
  expect(readable('max(area) <= 600 mm2')).toBe('max(area) ≤ 600 mm²');
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
    for (const unit of ['us', 's', 'B', 'B/s', 'FLOP/s', 'Hz', 'J', 'mJ', 'uJ', 'W', 'mm2', 'USD', 'cycles', '']) {
      const x = 10 ** (random() * 12);
      for (const text of [quantity(x, unit), written(x, unit)])
        expect(Math.abs((parseQuantity(text, unit) ?? NaN) / x - 1), text).toBeLessThan(unit === 'USD' ? 6e-3 : 6e-4);
    }
  });
});

test('a quantity with another unit, or none at all, is not read', () => {
  expect(parseQuantity('96KiB', 'B')).toBe(98304);
  expect(parseQuantity('1.38 ghz', 'Hz')).toBe(1.38e9);
  expect(parseQuantity('12', 'Hz')).toBe(12);
  expect(parseQuantity('$5,000', 'USD')).toBe(5000);
  expect(parseQuantity('5,000 USD', 'USD')).toBe(5000);
  expect(parseQuantity('$5', 'J')).toBeNull();
  expect(parseQuantity('600 mm²', 'mm2')).toBe(600);
  expect(parseQuantity('2 mJ', 'uJ')).toBe(2000);
  expect(parseQuantity('2 W', 'J')).toBeNull();
  expect(parseQuantity('12 GHz', 'B')).toBeNull();
  expect(parseQuantity('construct', '')).toBeNull();
  expect(parseQuantity('', '')).toBeNull();
});
