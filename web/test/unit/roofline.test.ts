// SPDX-License-Identifier: Apache-2.0
// The roofline beside the closed form of the sample: no kernel is above what its chip allows, and those that a roof of
// the drawing binds reach all of it but the two microseconds that every kernel takes.

import { expect, test } from 'vitest';

import { levelsOf, rooflineOf } from '../../src/roofline';
import { State } from '../../src/state';
import { kSmall, sample, workOf } from '../sample';

test('kernels are where their work, bytes and times put them', () => {
  const r = sample(kSmall);
  const state = new State(r);
  expect(levelsOf(r)).toEqual(['dram', 'smem']);
  for (let chip = 0; chip < r.counts.chips; ++chip)
    for (const level of ['dram', 'smem'] as const) {
      const drawn = rooflineOf(state, chip, level);
      expect(drawn.kernels.length).toBe(4);
      expect(drawn.kernels.reduce((sum, k) => sum + k.share, 0)).toBeCloseTo(1, 9);
      expect(drawn.peaks.map((p) => p.of)).toEqual(['fma.f32']);
      for (const k of drawn.kernels) {
        const us = r.rows.predicted_us[4 * chip + k.operator] as number;
        const work = workOf(k.operator);
        expect(k.intensity).toBeCloseTo(work.flop / work[level], 6);
        expect(k.rate / (work.flop / (us * 1e-6))).toBeCloseTo(1, 9);
        expect(k.rate).toBeLessThan(k.ceiling * 1.001);
        const binds = k.bound === 'arithmetic' || (k.bound === 'dram' && level === 'dram');
        if (binds) expect(k.rate / k.ceiling).toBeCloseTo((us - 2) / us, 2);
      }
    }
});

test('what has no place on it is named with the reason', () => {
  const r = sample(kSmall);
  r.rows.predicted_us[4] = null;
  (r.rows.work?.flop['fma.f32'] as number[])[1] = 0;
  (r.rows.work?.bytes['smem'] as number[])[2] = 0;
  const drawn = rooflineOf(new State(r), 1, 'smem');
  expect(drawn.without).toEqual([
    { operator: 0, why: 'time' },
    { operator: 1, why: 'work' },
    { operator: 2, why: 'bytes' },
  ]);
  expect(drawn.kernels.map((k) => k.operator)).toEqual([3]);
});

test('times are those of the chosen source, operators those of the chosen network', () => {
  const r = sample({ ...kSmall, networks: [{ name: 'n', operators: [1, 3] }] });
  const state = new State(r);
  state.set({ network: 0, source: 'simulated' });
  const { kernels } = rooflineOf(state, 2, 'dram');
  expect(kernels.map((k) => k.operator)).toEqual([1, 3]);
  expect(kernels[0]?.us).toBe(r.rows.simulated_us?.[4 * 2 + 1]);
});
