// SPDX-License-Identifier: Apache-2.0
import { expect, test } from 'vitest';

import { columnsOf } from '../../src/columns';
import { verdict } from '../../src/data';
import { State } from '../../src/state';
import { claimsSentence, ratioSentence } from '../../src/views/multi_fidelity';
import { multi_fidelity, kSmall, sample } from '../sample';

test('faster is said beyond the band alone, and both ways', () => {
  const e = multi_fidelity().multi_fidelity;
  if (!e) throw new Error('it is multi-fidelity');
  let beyond = 0;
  for (const d of e.differences) {
    const [a, b] = d.points;
    expect(verdict(e, a, b) === 'faster').toBe(d.faster !== null);
    expect(verdict(e, b, a) === 'slower').toBe(d.faster !== null);
    expect(d.faster === null || d.simulated_ratio > 1.5 / 0.6).toBe(true);
    beyond += d.faster === null ? 0 : 1;
  }
  expect(beyond).toBeGreaterThan(0);
  expect(beyond).toBeLessThan(e.differences.length);
  expect(claimsSentence(e)).toContain(`${beyond} of ${e.differences.length} differences`);
  const early = { ...e, no_claims: '3 points are not simulated yet' };
  for (const d of e.differences) expect(verdict(early, ...d.points)).toBe('');
  expect(claimsSentence(early)).toBe('No chip is said to be faster than another: 3 points are not simulated yet.');
});

test('the ratio stands with its n', () => {
  const e = multi_fidelity().multi_fidelity;
  if (!e) throw new Error('it is multi-fidelity');
  expect(ratioSentence(e)).toBe(
    `Simulated over predicted time of the validation sample: 0.88 to 1.12, median 1, n ${e.ratio.n} of 44. ` +
      'Band: 0.6 to 1.5, which holds 80 % of other chips.',
  );
  expect(ratioSentence({ ...e, ratio: { ...e.ratio, n: 0 } })).toContain('No validation sample is simulated');
  expect(ratioSentence({ ...e, ratio: { ...e.ratio, low_ratio: null } })).toContain('no band');
});

test('the table of chips has the simulated time and the reason of a multi-fidelity sweep', () => {
  const names = columnsOf(new State(multi_fidelity())).map((c) => c.name);
  expect(names).toContain('simulated');
  expect(names).toContain('chosen');
  expect(columnsOf(new State(sample(kSmall))).map((c) => c.name)).not.toContain('chosen');
});
