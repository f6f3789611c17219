// SPDX-License-Identifier: Apache-2.0
import { expect, test } from 'vitest';

import { parseFilter, partsOf, rangeOf, withConditions, type FilterColumn } from '../../src/filter';

const kCores = [40, 80, 120];
const kClocks = ['1.2 GHz', '1.38 GHz', '1.6 GHz'];
const kModes = ['construct', 'fixed', ''];

const columns: FilterColumn[] = [
  { names: ['core.count'], unit: '', number: (c) => kCores[c] ?? null, text: (c) => String(kCores[c]) },
  { names: ['clock'], unit: 'Hz', number: (c) => [1.2e9, 1.38e9, 1.6e9][c] ?? null, text: (c) => kClocks[c] ?? '' },
  { names: ['programs'], unit: '', number: () => null, text: (c) => kModes[c] ?? '' },
];

function kept(line: string): number[] | string {
  const parsed = parseFilter(line, columns);
  return 'error' in parsed ? parsed.error : [0, 1, 2].filter(parsed.test);
}

test('conditions keep what fulfils all of them', () => {
  expect(kept('')).toEqual([0, 1, 2]);
  expect(kept('core.count >= 80')).toEqual([1, 2]);
  expect(kept('core.count>=80, clock<1.5GHz')).toEqual([1]);
  expect(kept('Core.Count != 80;')).toEqual([0, 2]);
  expect(kept('clock = 1.38 GHz')).toEqual([1]);
  expect(kept('clock > 1.38 GHz')).toEqual([2]);
  expect(kept('programs = fixed')).toEqual([1]);
  expect(kept('programs != fixed')).toEqual([0, 2]);
  expect(kept('core.count = 40|120')).toEqual([0, 2]);
  expect(kept('core.count != 40|120')).toEqual([1]);
  expect(kept('programs = fixed|construct, core.count ≤ 40')).toEqual([0]);
});

test('what is wrong is said, with what there is', () => {
  expect(kept('cores > 1')).toBe("no column is called 'cores'; there are core.count, clock, programs");
  expect(kept('core.count')).toBe("'core.count' is no condition; write one such as core.count >= 1");
  expect(kept('core.count > many')).toBe("'many' is no number, and > compares numbers");
});

test('a comma within a number or a name parts nothing', () => {
  expect(partsOf('price <= $5,000, area < 3;; max(a, b) = 2 ,')).toEqual([
    'price <= $5,000',
    'area < 3',
    'max(a, b) = 2',
  ]);
  expect(partsOf('a = 1,b = 2')).toEqual(['a = 1', 'b = 2']);
  expect(partsOf('price <= 12,345,678')).toEqual(['price <= 12,345,678']);
  expect(partsOf(' ,; ')).toEqual([]);
  expect(partsOf('((,)')).toEqual(['((,)']);
});

test('what the line says of a column is a range, and a range replaces it', () => {
  const [cores, clock, programs] = columns as [FilterColumn, FilterColumn, FilterColumn];
  const line = 'core.count >= 80, clock = 1.38 GHz, core.count < 120, core.count >= 40, programs = fixed|construct';
  expect(rangeOf(line, cores)).toEqual({ low: 80, high: 120, texts: null });
  expect(rangeOf(line, clock)).toEqual({ low: 1.38e9, high: 1.38e9, texts: ['1.38 GHz'] });
  expect(rangeOf(line, programs)?.texts).toEqual(['fixed', 'construct']);
  expect(rangeOf('core.count != 80', cores)).toBeNull();
  expect(withConditions(line, cores, ['core.count >= 60'])).toBe(
    'clock = 1.38 GHz, programs = fixed|construct, core.count >= 60',
  );
  expect(withConditions('core.count != 80, core.count > 3', cores, [])).toBe('core.count != 80');
});
