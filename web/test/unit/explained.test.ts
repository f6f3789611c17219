// SPDX-License-Identifier: Apache-2.0
// Sources, residuals and sensitivities beside plain loops over the document.

import { expect, test } from 'vitest';

import { swingsOf } from '../../src/sensitivity';
import { marksIn, partsOf, residualsOf } from '../../src/sources';
import { State } from '../../src/state';
import { explained } from '../explained';
import { kSmall } from '../sample';

const report = explained(kSmall);

test('parts that bind come first, with their share of the weighted predicted time', () => {
  const state = new State(report);
  for (const chip of [0, 7, 30]) {
    const parts = partsOf(state, chip);
    const us = (i: number) =>
      (report.rows.predicted_us[4 * chip + i] as number) * (report.operators.weight[i] as number);
    const all = [0, 1, 2, 3].reduce((sum, i) => sum + us(i), 0);
    const by = (term: string) =>
      [0, 1, 2, 3]
        .filter((i) => report.rows.bottleneck.dictionary[report.rows.bottleneck.codes[4 * chip + i] as number] === term)
        .reduce((sum, i) => sum + us(i), 0) / all;
    expect(parts.find((p) => p.name === 'memory.dram')?.share).toBeCloseTo(by('dram'), 9);
    expect(parts.find((p) => p.name === 'compute.fma.f32')?.share).toBeCloseTo(by('arithmetic'), 9);
    expect(parts.find((p) => p.name === 'compute.mma.f16')?.share).toBe(0);
    expect(parts.map((p) => p.share)).toEqual([...parts.map((p) => p.share)].sort((a, b) => b - a));
    expect(parts.flatMap((p) => p.figures).length).toBe(9);
  }
});

test('what the sweep has set is said beside the value of the base, and bears no mark', () => {
  const state = new State(report);
  const chip = report.chips.axis[1]?.findIndex((v, c) => c > 0 && v === 0) as number;
  const banks = partsOf(state, chip)
    .flatMap((p) => p.figures)
    .find((f) => f.key === 'banks');
  expect(banks).toMatchObject({ value: '16', was: '32', mark: '', source: 'set by the sweep' });
  const base = marksIn(partsOf(state, 0));
  expect(base).toEqual([
    ['D', 4],
    ['E', 1],
    ['M', 1],
    ['P', 1],
    ['X', 1],
    ['', 1],
  ]);
  const changed = [0, 1, 2].filter((a) => report.chips.axis[a]?.[chip] !== report.chips.axis[a]?.[0]).length;
  expect(marksIn(partsOf(state, chip)).reduce((n, [, times]) => n + times, 0)).toBe(9 - changed);
});

test('the nearest measured rows are those of the band that the prediction has', () => {
  const r = explained(kSmall);
  const state = new State(r);
  const [matmul, conv] = residualsOf(state, 7);
  expect(matmul).toMatchObject({ kind: 'matmul', operators: 1, low: 0.84, high: 1.12, rows: 400, holds: true });
  expect(conv).toMatchObject({ kind: 'conv', low: 0.9, high: 1.3, rows: 8749 });
  expect(conv?.source).toBe('all: all measured kernels');
  for (let row = 4; row < r.rows.band.codes.length; ++row) r.rows.band.codes[row] = null;
  expect(residualsOf(state, 7)[0]).toMatchObject({ low: 0.84, holds: false });
  r.rows.band.codes.fill(null);
  expect(residualsOf(state, 7)[0]).toMatchObject({ low: null, rows: null, holds: false });
});

test('a swing is what the elasticity makes of the step', () => {
  const [time] = report.sensitivities ?? [];
  const swings = swingsOf(report, time as NonNullable<typeof time>);
  expect(swings.map((s) => s.axis)).toEqual(['memory.smem.banks', 'core.count']);
  expect(swings[0]?.change).toBeCloseTo(4 ** -0.4 - 1, 12);
  expect(swings[1]?.change).toBeCloseTo((100 / 60) ** -0.6 - 1, 12);
});
