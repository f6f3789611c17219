// SPDX-License-Identifier: Apache-2.0
import { describe, expect, test, vi } from 'vitest';

import { addressOf, choiceOf, sparingly } from '../../src/address';
import { apart, bandOf } from '../../src/band';
import { sweepOf, type Report } from '../../src/data';
import { parseFilter } from '../../src/filter';
import { headlineOf } from '../../src/headline';
import { lanesOf, lineWith } from '../../src/lanes';
import { budgetsInWords, budgetsOf, feasible } from '../../src/measures';
import { State } from '../../src/state';
import { decided } from '../decided';
import { forSeeds } from '../random';
import { kSmall, multi_fidelity, range, sample } from '../sample';

const said = (state: State) =>
  headlineOf(state)
    .words.map((w) => w.text)
    .join('');

describe('what is weighed', () => {
  test('objectives come first, a name once, constants not at all', () => {
    const names = new State(decided(kSmall)).measures.map((m) => m.name);
    expect(names.slice(0, 5)).toEqual(['time', 'energy', 'area', 'price', 'power']);
    expect(new Set(names).size).toBe(names.length);
    expect(names).not.toContain('dram bandwidth');
  });

  test('the page opens with the first objective over one that has a budget', () => {
    const state = new State(decided(kSmall));
    expect([state.y().name, state.x().name]).toEqual(['time', 'area']);
    const r = decided(kSmall);
    r.objectives?.reverse();
    expect(new State(r).y().name).toBe('price');
    const plain = new State(sample(kSmall));
    expect([plain.y().name, plain.x().name]).toEqual(['time', 'peak f32']);
  });

  test('budgets are lines in the unit of what they bound', () => {
    const r = decided(kSmall);
    r.constraints?.push({ text: 'time <= 2 ms', name: 'time', unit: 'ms', bound: 2, at_most: true });
    r.constraints?.push({ text: 'energy <= 2 W', name: 'energy', unit: 'W', bound: 2, at_most: true });
    const state = new State(r);
    const of = (name: string) => budgetsOf(r, state.measures.find((m) => m.name === name) as never);
    expect(of('time')).toEqual([{ bound: 2000, atMost: true, text: 'time ≤ 2 ms' }]);
    expect(of('energy')).toEqual([]);
    expect(budgetsInWords(decided(kSmall))).toBe('area ≤ 600 mm², power ≤ 300 W and price ≤ $5,000');
  });

  test('a column that is too short is damage', () => {
    const r = decided(kSmall);
    r.objectives?.[1]?.values.pop();
    expect(() => sweepOf(r)).toThrow('energy has 45 entries and not 46');
    const of = decided(kSmall);
    of.chips.violation?.pop();
    expect(() => sweepOf(of)).toThrow('violation has 45 entries and not 46');
  });
});

describe('the headline', () => {
  test('of a sweep whose first objective is more of something', () => {
    const r = decided(kSmall);
    r.objectives?.unshift({
      name: 'tokens',
      unit: '1/s',
      better: 'more',
      values: r.chips.base.map((_, c) => 100 + c),
    });
    const best = Math.max(...range(46, (c) => c).filter((c) => feasible(r, c)));
    expect(said(new State(r))).toContain(`Chip ${best}, with `);
    expect(said(new State(r))).toContain('has the most tokens of 25 chips');
    expect(said(new State(r))).toContain(`: ${100 + best} 1/s, ${best} % more than the 100 1/s of its base`);
    expect(said(new State(r))).toContain('no band says how sure that is: tokens has none.');
  });

  test('names of equals the one that is best by the next objective', () => {
    const r = decided(kSmall);
    const chips = range(46, (c) => c).filter((c) => feasible(r, c));
    r.objectives = [
      { name: 'tokens', unit: '1/s', better: 'more', values: r.chips.base.map((_, c) => (c === 0 ? 99 : 100)) },
      { name: 'watts', unit: 'W', better: 'less', values: r.chips.base.map((_, c) => 100 - c) },
    ];
    expect(headlineOf(new State(r)).chip).toBe(Math.max(...chips));
  });

  test('says faster beyond the band alone', () => {
    const r = decided(kSmall);
    r.rows.band = { low_ratio: [0.99], high_ratio: [1.01], codes: r.rows.predicted_us.map(() => 0) };
    expect(said(new State(r))).toContain('so it is faster beyond the band.');
    r.rows.band.codes[0] = null;
    expect(said(new State(r))).toContain('and its base has no band.');
  });

  test('of a multi-fidelity sweep has its intervals, and no claim before it ends', () => {
    const r = multi_fidelity();
    expect(said(new State(r))).toMatch(/in 80 % of such cases it is .*, its base .*, so/);
    if (r.multi_fidelity) r.multi_fidelity.no_claims = '3 points are simulated';
    expect(said(new State(r))).toContain('nothing is claimed before 3 points are simulated.');
  });

  test('of a base that is the best', () => {
    const r = sample({ ...kSmall, axes: [] });
    expect(said(new State(r))).toMatch(/^Chip 0, the base as it is, has the least predicted time of 2 chips: /);
  });

  test('of nothing that is finished', () => {
    const r = sample({ ...kSmall, failEvery: 1 });
    expect(said(new State(r))).toBe('No chip has a known predicted time yet.');
  });
});

test('the band of a total is that of its operators, of one operator its own', () => {
  const r = sample(kSmall);
  const state = new State(r);
  const us = r.rows.predicted_us.slice(4 * 7, 4 * 8) as number[];
  const low = us.reduce((sum, t, i) => sum + t * (r.operators.weight[i] ?? 1) * (i === 0 ? 0.84 : 0.9), 0);
  expect(bandOf(state, 7)?.low).toBeCloseTo(low, 6);
  state.set({ operator: 1 });
  expect(bandOf(state, 7)).toEqual({ low: 0.9 * (us[1] ?? 0), high: 1.3 * (us[1] ?? 0) });
  state.set({ source: 'simulated' });
  expect(bandOf(state, 7)).toBeNull();
  expect(apart({ low: 1, high: 2 }, { low: 3, high: 4 })).toBe('below');
  expect(apart({ low: 1, high: 2 }, { low: 2, high: 4 })).toBe('within');
  expect(apart(null, { low: 2, high: 4 })).toBeNull();
});

test('an address says what was chosen, whatever that was', () => {
  const r: Report = decided({ ...kSmall, networks: [{ name: 'a & b=c|ü', operators: [1] }] });
  forSeeds(200, (random) => {
    const state = new State(r);
    const start = state.get();
    const pick = (n: number) => Math.floor(random() * n);
    const maybe = (n: number) => (random() < 0.4 ? null : pick(n));
    const operator = maybe(4);
    state.set({
      chip: maybe(46),
      line: ['', 'area <= 600 mm2, x = 50 %', 'programs = a|b & c#d', '+1'][pick(4)] ?? '',
      x: pick(state.measures.length),
      y: pick(state.measures.length),
      xMore: random() < 0.5,
      yMore: random() < 0.5,
      source: random() < 0.5 ? 'predicted' : 'simulated',
      operator,
      network: operator === null ? maybe(1) : null,
    });
    const names = ['a, b', 'c=d', '-e & f'];
    const look = state.look('heat:core.count, clock', names, 1);
    look.choose(pick(3));
    const { shown: _, looks: __, ...chosen } = state.get();
    const again = new State(r);
    const { looks, ...said } = choiceOf(again, start, addressOf(state, start));
    expect(said).toEqual(chosen);
    again.set({ looks: looks ?? {} });
    expect(again.look('heat:core.count, clock', names, 1).name()).toBe(look.name());
  });
  const state = new State(r);
  expect(choiceOf(state, state.get(), '#filter=%E0%A4%A').line).toBe('%E0%A4%A');
  expect(addressOf(state, state.get())).toBe('#chip=none');
});

test('who drags does not flood the address, and the last choice is written', () => {
  vi.useFakeTimers();
  try {
    let [now, wrote] = [0, [] as number[]];
    const write = sparingly(() => wrote.push(now));
    for (now = 1; now <= 600; ++now) {
      write();
      vi.advanceTimersByTime(16);
    }
    vi.advanceTimersByTime(2000);
    expect(wrote.length).toBeLessThan(25);
    expect(wrote.at(-1)).toBe(601);
    vi.advanceTimersByTime(20_000);
    write();
    expect(wrote.length).toBeLessThan(26);
  } finally {
    vi.useRealTimers();
  }
});

test('what is brushed on a lane is what the filter keeps, and the lane shows it', () => {
  const r = decided(kSmall);
  const state = new State(r);
  const lanes = lanesOf(state);
  expect(lanes.map((l) => l.name)).toEqual(['core.count', 'smem.banks', 'clock', 'time', 'energy', 'area', 'price']);
  forSeeds(100, (random) => {
    const lane = lanes[Math.floor(random() * lanes.length)];
    if (!lane) return;
    const place = () => (lane.stops ? (lane.stops[Math.floor(random() * lane.stops.length)] ?? 0) : random());
    const [low, high] = [place(), place()].sort((a, b) => a - b) as [number, number];
    const line = lineWith('ratio < 2', lane, low, high);
    const parsed = parseFilter(line, [lane.column, { names: ['ratio'], unit: '', number: () => 1, text: () => '' }]);
    if ('error' in parsed) throw new Error(parsed.error);
    const near = lane.stops ? 1e-6 : 0.012; // numbers of the line have three digits
    range(46, (c) => c).forEach((chip) => {
      const at = lane.of[chip] as number;
      if (at >= low && at <= high) expect(parsed.test(chip), `${line}, chip ${chip}`).toBe(true);
      if (at < low - near || at > high + near) expect(parsed.test(chip), `${line}, chip ${chip}`).toBe(false);
    });
    const seen = lane.range(line);
    expect(Math.abs(seen[0] - low)).toBeLessThan(near);
    expect(Math.abs(seen[1] - high)).toBeLessThan(near);
  });
});
