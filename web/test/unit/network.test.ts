// SPDX-License-Identifier: Apache-2.0
import { expect, test } from 'vitest';

import { parseFilter } from '../../src/filter';
import { folded } from '../../src/network/bars';
import { networkColumns } from '../../src/network/columns';
import { isNetwork, kindsText, levelsText, networkOf, pictureOf, sharesBy } from '../../src/network/data';
import { sentence } from '../../src/network/header';
import { kWidth, layoutOf, linesOf } from '../../src/network/layout';
import { nameOf, NetworkState } from '../../src/network/state';
import { sorted } from '../../src/sorted_list';
import { kFourLayers, network } from '../network_sample';
import { kSmall, sample } from '../sample';

const four = network(kFourLayers);

test('a network is told from a sweep, and damage is said', () => {
  expect(isNetwork(four)).toBe(true);
  expect(isNetwork(sample(kSmall))).toBe(false);
  expect(() => networkOf({ report: 1, network: {} })).toThrow('has no groups');
});

test('equal runs are one run of boxes, and no time is lost', () => {
  const picture = pictureOf(four.network);
  expect(picture.boxes.map((b) => b.groups)).toEqual([
    [0],
    [1, 5, 9, 13],
    [2, 6, 10, 14],
    [3, 7, 11, 15],
    [4, 8, 12, 16],
    [17],
  ]);
  expect(picture.runs).toEqual([{ first: 1, last: 4, times: 4 }]);
  const all = picture.boxes.reduce((us, b) => us + (b.predicted_us ?? NaN), 0);
  expect(all).toBeCloseTo(four.network.total.predicted_us);
  const without = pictureOf(network({ ...kFourLayers, layers: 2 }).network);
  expect(without.boxes.length).toBe(10);
  expect(without.runs).toEqual([]);
});

test('a box reads the boxes that write its tensors', () => {
  const { boxes } = pictureOf(four.network);
  expect(boxes[3]?.from).toEqual([
    { box: 1, tensors: ['layer0.query'] },
    { box: 2, tensors: ['layer0.key'] },
  ]);
  expect(boxes[4]?.from.map((l) => l.box)).toEqual([3, 0]);
  expect(boxes[5]?.from.map((l) => l.box)).toEqual([4]); // the last layer's, which is drawn as the first
});

test('a group without a time has none in its box, and none in the sums', () => {
  const failed = network({ ...kFourLayers, failed: true });
  expect(pictureOf(failed.network).boxes[5]?.predicted_us).toBe(null);
  expect(sentence(new NetworkState(failed))).toContain('1 of them without a time');
  expect(
    sharesBy(
      failed.network.groups,
      (g) => g.kind,
      (g) => g.predicted_us,
    ).map((s) => s.name),
  ).toEqual(['MatMul', 'Gather']);
});

test('a network of which nothing runs, or nothing has a time, says so', () => {
  const views = network({ ...kFourLayers, simulated: false });
  views.network.total = { ...views.network.total, groups: 0, kernels: 0 };
  expect(sentence(new NetworkState(views))).toContain('every node is another view');
  views.network.total = { ...views.network.total, groups: 3, without_time: 3 };
  expect(sentence(new NetworkState(views))).toContain('None of them has a time');
});

test('shares are of all groups, the largest first, and small ones are one part', () => {
  const shares = sharesBy(
    four.network.groups,
    (g) => g.bottleneck ?? '',
    (g) => g.predicted_us,
  );
  expect(shares.map((s) => [s.name, s.us, s.groups])).toEqual([
    ['arithmetic', 160, 12],
    ['dram', 125, 5],
    ['launch', 1, 1],
  ]);
  expect(shares.reduce((sum, s) => sum + s.ratio, 0)).toBeCloseTo(1);
  expect(folded(shares, 2).map((s) => [s.name, s.us, s.rest])).toEqual([
    ['arithmetic', 160, false],
    ['2 others', 126, true],
  ]);
});

test('nodes of a group show what passes inside a kernel, by its level', () => {
  const attention = four.network.groups[3];
  const out = four.network.groups[4];
  if (!attention || !out) throw new Error('they are there');
  const { lines, arcs, more } = linesOf(attention);
  expect(lines.map((l) => [l.text, l.levels, l.kernel])).toEqual([
    ['MatMul', 'smem', 0],
    ['Where', '', null],
    ['Softmax', 'reg', 0],
    ['MatMul', '', 1],
  ]);
  expect(arcs).toEqual([{ from: 0, to: 2, level: 'smem' }]);
  expect(more).toBe(0);
  expect(levelsText(attention)).toBe('1 smem, 1 reg');
  expect(linesOf(out).lines.map((l) => l.text)).toEqual(['MatMul', 'sum']);
  expect(kindsText(attention)).toBe('MatMul+Where+Softmax+MatMul');
  const kinds = ['Conv', 'Relu', 'Conv', 'Relu', 'Add'];
  expect(kindsText({ ...out, nodes: kinds, kinds })).toBe('2 Conv+2 Relu+Add');
  expect(nameOf(out)).toBe('layer0.out .. sum');
  expect(nameOf({ ...out, nodes: ['a.b', 'c.b'] })).toBe('a.b .. c.b');
  const many = { ...out, nodes: Array.from({ length: 20 }, (_, i) => `n${i}`), stages: [], passes: [] };
  expect(linesOf(many).lines.length + linesOf(many).more).toBe(20);
});

test('boxes lie below what they read, and none covers another', () => {
  const picture = pictureOf(four.network);
  const layout = layoutOf(picture);
  for (const e of layout.edges)
    expect(layout.boxes[e.to]?.y).toBeGreaterThan(
      (layout.boxes[e.from]?.y ?? NaN) + (layout.boxes[e.from]?.height ?? 0),
    );
  layout.boxes.forEach((a, i) =>
    layout.boxes.slice(i + 1).forEach((b) => {
      const apart = a.x + kWidth < b.x || b.x + kWidth < a.x || a.y + a.height < b.y || b.y + b.height < a.y;
      expect(apart).toBe(true);
    }),
  );
  for (const b of layout.boxes) expect(b.y + b.height).toBeLessThan(layout.height);
  expect(layout.frames.map((f) => f.times)).toEqual([4]);
  expect(layoutOf({ boxes: [], runs: [], boxOf: [] }).boxes).toEqual([]);
});

test('the table sorts by every column and filters by texts and conditions', () => {
  const state = new NetworkState(four);
  const columns = networkColumns(state);
  for (const column of columns)
    for (const falling of [false, true]) {
      const order = sorted(state.get().shown, column, falling);
      expect([...order].sort((a, b) => a - b)).toEqual([0, 1, 2, 3, 4, 5]);
    }
  const share = columns.find((c) => c.name === 'share');
  if (!share) throw new Error('it is there');
  expect(sorted(state.get().shown, share, true)[0]).toBe(3);
  const kept = (line: string) => {
    const parsed = parseFilter(line, columns, true);
    return 'error' in parsed ? parsed.error : state.get().shown.filter(parsed.test);
  };
  expect(kept('softmax')).toEqual([3, 5]);
  expect(kept('SOFTMAX, smem')).toEqual([3]);
  expect(kept('share > 20 %, bound by = arithmetic')).toEqual([4]);
  expect(kept('predicted >= 80us')).toEqual([3, 4]);
  expect(kept('nothing of the kind')).toEqual([]);
  expect(kept('predictd > 3')).toContain("no column is called 'predictd'");
});

test('simulated columns are there where the document has simulated times', () => {
  const names = (simulated: boolean) =>
    networkColumns(new NetworkState(network({ ...kFourLayers, simulated }))).map((c) => c.name);
  for (const name of ['simulated', "model's error", 'top stall']) {
    expect(names(true)).toContain(name);
    expect(names(false)).not.toContain(name);
  }
  const state = new NetworkState(four);
  expect(state.time(1)).toBe(40);
  state.set({ source: 'simulated' });
  expect(state.time(1)).toBeCloseTo(44);
  expect(state.share(1)).toBeCloseTo(44 / (four.network.total.simulated_us ?? NaN));
});
