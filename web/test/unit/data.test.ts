// SPDX-License-Identifier: Apache-2.0
import { expect, test } from 'vitest';

import { ratioColour } from '../../src/colour';
import { columnsOf } from '../../src/columns';
import { commandOf, decode, dimensionsOf, shortNames, type Report } from '../../src/data';
import { sorted } from '../../src/sorted_list';
import { State } from '../../src/state';
import { planeOf, type Sketched } from '../../src/views/sketch';
import { kSmall, sample } from '../sample';

const again = (report: Report): Report => decode(JSON.stringify(report));

test('a document that is whole is read, a damaged one is refused with a sentence', () => {
  expect(again(sample(kSmall)).counts.chips).toBe(46);
  expect(() => decode('/*@@TILESCOPE_REPORT@@*/')).toThrow('the empty template of a report');
  expect(() => decode('{"report": 1,')).toThrow('damaged');
  expect(() => again({ ...sample(kSmall), report: 7 })).toThrow('of form 7, and this page reads form 1');
  const cut = sample(kSmall);
  cut.rows.predicted_us.pop();
  expect(() => again(cut)).toThrow('predicted_us has 183 entries and not 184');
});

test('short names tell axes apart', () => {
  expect(shortNames(['memory.smem.banks', 'memory.l2.banks', 'clock', 'core.count'])).toEqual([
    'smem.banks',
    'l2.banks',
    'clock',
    'core.count',
  ]);
  expect(shortNames(['a.x.y', 'b.x.y'])).toEqual(['a.x.y', 'b.x.y']);
});

test('axes of one group are one dimension, axes that follow others none', () => {
  const r = sample(kSmall);
  expect(dimensionsOf(r).map((d) => d.values.length)).toEqual([5, 3, 3]);
  const mixed = sample({ ...kSmall, axes: [{ name: 'core.count', values: [80, 40, 60], unit: '' }] });
  expect(dimensionsOf(mixed)[0]?.values).toEqual(['40', '60', '80']);
  expect(dimensionsOf(mixed)[0]?.of).toEqual([2, 2, 0, 1]);
  const [cores, banks, clock] = r.axes;
  if (!cores || !banks || !clock) throw new Error('three axes');
  banks.group = 0;
  clock.group = null;
  const tied = dimensionsOf(r);
  expect(tied.map((d) => d.name)).toEqual(['core.count, memory.smem.banks']);
  expect(tied[0]?.values.slice(0, 2)).toEqual(['40, 16', '40, 32']);
  expect(tied[0]?.of[1]).toBe(0);
});

test('the command constructs what the row says', () => {
  const r = sample(kSmall);
  expect(commandOf(r, 0, 0)).toBe('tilescope compile --arch v100 --suite roller --only M0');
  expect(commandOf(r, 45, 1)).toBe(
    "tilescope compile --arch v100 --set core.count=120 --set memory.smem.banks=64 --set 'clock=1.6 GHz' " +
      '--suite roller --only C2',
  );
  r.chips.arch.dictionary = ["it's.yaml"];
  expect(commandOf(r, 0, 0)).toContain("--arch 'it'\\''s.yaml'");
  const [cores] = r.axes;
  if (cores) Object.assign(cores, { name: 'program.padding', settable: false });
  expect(commandOf(r, 45, 1)).toBeNull();
});

test('a sequence that is no suite has no command', () => {
  const r = sample(kSmall);
  r.operators.command = ['--suite layer.yaml --sequence', null];
  expect(commandOf(r, 0, 0)).toBe('tilescope compile --arch v100 --suite layer.yaml --sequence');
  expect(commandOf(r, 0, 1)).toBeNull();
});

test('columns sort by number, then by place; what has no value comes last', () => {
  const state = new State(sample({ ...kSmall, failEvery: 7 }));
  const time = columnsOf(state).find((c) => c.name === 'time');
  if (!time) throw new Error('a column of times');
  const shown = state.get().shown;
  for (const falling of [false, true]) {
    const order = sorted(shown, time, falling);
    const times = order.map((c) => state.times()[c] ?? null);
    const known = times.filter((us) => us !== null);
    expect(known.length).toBeLessThan(times.length);
    expect(times.slice(known.length).every((us) => us === null)).toBe(true);
    expect(known).toEqual([...known].sort((a, b) => (falling ? b - a : a - b)));
    expect([...order].sort((a, b) => a - b)).toEqual(shown);
  }
});

test('cells can be read on every colour', () => {
  const luminance = (rgb: number[]) => {
    const [r, g, b] = rgb.map((v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * (r ?? 0) + 0.7152 * (g ?? 0) + 0.0722 * (b ?? 0);
  };
  const hex = (text: string) => [1, 3, 5].map((i) => parseInt(text.slice(i, i + 2), 16));
  for (const dark of [false, true])
    for (let ratio = 0.2; ratio < 5; ratio *= 1.05) {
      const { fill, ink } = ratioColour(ratio, 4, dark);
      const [a, b] = [luminance(fill.match(/\d+/g)?.map(Number) ?? []), luminance(hex(ink))];
      const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
      expect(contrast, `${ratio} ${fill} ${ink}`).toBeGreaterThan(4.4);
    }
});

test('tiles are drawn over their last two spatial axes', () => {
  const tile = (axes: string, block: string, thread: string): Sketched => ({
    name: 'x',
    tile: (field) => ({ axes, 'block tile': block, 'thread tile': thread })[field],
  });
  expect(planeOf(tile('m x n x k', '64x128x16', '8x4'))).toEqual({
    down: 64,
    across: 128,
    threadDown: 8,
    threadAcross: 4,
    label: 'm 64 x n 128',
  });
  expect(planeOf(tile('i x j', '32x16', '2'))).toMatchObject({ down: 1, across: 32, label: 'i 32' });
  expect(planeOf(tile('b x m x n x k; y', '1x64x32x8; 4', '1x4x8; 2'))).toMatchObject({ down: 64, across: 32 });
  expect(planeOf(tile('', '', ''))).toBeNull();
});

test('a network is looked at as all its operators, weighted', () => {
  const networks = [
    { name: 'bert-base', operators: [0, 1] },
    { name: 'nerf', operators: [3] },
  ];
  const report = sample({ ...kSmall, networks });
  const state = new State(report);
  expect(state.timeName()).toBe('predicted time, weighted total');
  state.set({ network: 0 });
  expect(state.timeName()).toBe('predicted time of bert-base, weighted total');
  const us = (operator: number) => report.rows.predicted_us[7 * 4 + operator] ?? NaN;
  expect(state.times()[7]).toBeCloseTo(3 * us(0) + 2 * us(1), -1);
  expect(state.ratios()[0]).toBe(1);
  state.set({ network: null, operator: 3 });
  expect(state.timeName()).toBe('predicted time of E3');
  expect(state.times()[7]).toBe(us(3));
});
