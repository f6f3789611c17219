// SPDX-License-Identifier: Apache-2.0
// Reports of sweeps that never ran, of any size: a closed form stands for the model, so that tests know every number.

import type { Chosen, Coded, Column, Report, Roof } from '../src/data';

export interface SampleOptions {
  axes: { name: string; values: number[]; unit: string }[];
  operators: { id: string; kind: string; weight: number }[];
  simulated: boolean;
  measured: boolean;
  failEvery: number; // every n-th row failed; 0: none
  networks: { name: string; operators: number[] }[];
}

export const kSmall: SampleOptions = {
  axes: [
    { name: 'core.count', values: [40, 60, 80, 100, 120], unit: '' },
    { name: 'memory.smem.banks', values: [16, 32, 64], unit: '' },
    { name: 'clock', values: [1.2, 1.38, 1.6], unit: 'GHz' },
  ],
  operators: [
    { id: 'M0', kind: 'matmul', weight: 3 },
    { id: 'C2', kind: 'conv', weight: 2 },
    { id: 'D0', kind: 'depthwise', weight: 1 },
    { id: 'E3', kind: 'elementwise', weight: 1 },
  ],
  simulated: true,
  measured: false,
  failEvery: 0,
  networks: [],
};

/** 20,000 chips: 20 x 10 x 10 x 10 values. */
export const kLarge: SampleOptions = {
  ...kSmall,
  axes: [
    { name: 'core.count', values: range(20, (i) => 20 + 8 * i), unit: '' },
    { name: 'memory.smem.banks', values: range(10, (i) => 8 + 8 * i), unit: '' },
    { name: 'clock', values: range(10, (i) => 1 + i / 10), unit: 'GHz' },
    { name: 'memory.dram.channels', values: range(10, (i) => 16 + 8 * i), unit: '' },
  ],
};

export function range<T>(n: number, of: (i: number) => T): T[] {
  return Array.from({ length: n }, (_, i) => of(i));
}

const short = (x: number): number => Number(x.toPrecision(4));

/** A value of the axis of that name, or what stands for one where the sweep has none. */
const kDefaults: Record<string, number> = {
  'core.count': 80,
  'memory.smem.banks': 32,
  clock: 1.38,
  'memory.dram.channels': 64,
};

interface Chip {
  index: number[]; // of the value on each axis
  cores: number;
  banks: number;
  clock: number;
  channels: number;
}

function chipsOf(o: SampleOptions): Chip[] {
  const count = o.axes.reduce((n, a) => n * a.values.length, 1);
  return range(count, (chip) => {
    const index: number[] = [];
    let rest = chip;
    for (const axis of [...o.axes].reverse()) {
      index.unshift(rest % axis.values.length);
      rest = Math.floor(rest / axis.values.length);
    }
    const value = (name: string): number => {
      const i = o.axes.findIndex((a) => a.name === name);
      return i < 0 ? (kDefaults[name] ?? 1) : (o.axes[i]?.values[index[i] ?? 0] ?? 1);
    };
    const [cores, banks] = [value('core.count'), value('memory.smem.banks')];
    return { index, cores, banks, clock: value('clock'), channels: value('memory.dram.channels') };
  });
}

const kTerms = ['arithmetic', 'scratchpad', 'dram'];

/** What each term of the operator takes alone, in microseconds; each operator leans another way. */
function terms(chip: Chip, operator: number): number[] {
  const lean = [1, 0.6, 0.15, 0.02][operator % 4] ?? 1;
  return [
    (4e6 * lean) / (chip.cores * chip.clock * 64),
    (2.6e6 * lean) / (chip.cores * chip.clock * chip.banks),
    (1.6e5 * (1.1 - lean)) / (chip.channels * 14),
  ];
}

/** What each operator does, whatever the chip: what its terms take at the peaks of `roofsOf`. */
export const workOf = (operator: number): { flop: number; dram: number; smem: number } => {
  const lean = [1, 0.6, 0.15, 0.02][operator % 4] ?? 1;
  return { flop: 8e9 * lean, dram: short(1.6e8 * (1.1 - lean)), smem: 1.04e10 * lean };
};

function roofsOf(chips: readonly Chip[]): Roof[] {
  const roof = (of: string, unit: Roof['unit'], rate: (c: Chip) => number): Roof => {
    const rates = chips.map((c) => short(rate(c)));
    const values = [...new Set(rates)];
    return { of, unit, values, ...(values.length > 1 ? { codes: rates.map((x) => values.indexOf(x)) } : {}) };
  };
  return [
    roof('fma.f32', 'FLOP/s', (c) => c.cores * c.clock * 128e9),
    roof('mma.f16', 'FLOP/s', (c) => c.cores * c.clock * 1024e9),
    roof('dram', 'B/s', (c) => c.channels * 14e9),
    roof('smem', 'B/s', (c) => c.cores * c.clock * c.banks * 4e9),
  ];
}

export function sample(o: SampleOptions): Report {
  const grid = chipsOf(o);
  const chips = [grid[nearestBase(grid)] as Chip, ...grid];
  const operators = o.operators.length;
  const base = 0;
  const predicted: Column = [];
  const bottleneck: Coded = { dictionary: kTerms, codes: [] };
  const error: Coded = { dictionary: ['no block of it fits the scratchpad'], codes: [] };
  for (const chip of chips)
    for (let i = 0; i < operators; ++i) {
      const failed = o.failEvery > 0 && predicted.length % o.failEvery === o.failEvery - 1;
      const all = terms(chip, i);
      const most = Math.max(...all);
      predicted.push(failed ? null : short(most + 2));
      bottleneck.codes.push(failed ? null : all.indexOf(most));
      error.codes.push(failed ? 0 : null);
    }
  const off = (by: number) =>
    predicted.map((us, row) => (us === null ? null : short(us * (1 + by * Math.sin(row * 12.9)))));
  const simulated = o.simulated ? off(0.12) : null;
  const measured = o.measured ? off(0.2).map((us, row) => (Math.floor(row / operators) === base ? us : null)) : null;
  const baseRow = (row: number) => base * operators + (row % operators);
  const over = (times: Column): Column =>
    times.map((us, row) => (us === null ? null : short(us / (times[baseRow(row)] as number))));
  const totalOf = (times: Column, of: number[]) =>
    chips.map((_, chip) => {
      const mine = of.map((i): [number | null, number] => [
        times[chip * operators + i] ?? null,
        o.operators[i]?.weight ?? 1,
      ]);
      if (mine.some(([us]) => us === null)) return null;
      return short(mine.reduce((sum, [us, weight]) => sum + (us as number) * weight, 0));
    });
  const totalsOf = (of: number[]) =>
    [
      { source: 'predicted' as const, total_us: totalOf(predicted, of) },
      ...(simulated ? [{ source: 'simulated' as const, total_us: totalOf(simulated, of) }] : []),
    ].map((t) => ({
      ...t,
      ratio: t.total_us.map((us) => (us === null ? null : short(us / (t.total_us[base] as number)))),
    }));
  const totals = totalsOf(range(operators, (i) => i));
  const done = predicted.filter((us) => us !== null).length;
  return {
    report: 1,
    title: 'A sweep of cores and banks',
    version: '0.1.0',
    provenance: [
      ['made', '2026-01-01'],
      ['host', 'a test'],
    ],
    sweep: { file: 'sweep.yaml', text: 'base: v100\naxes: {core.count: [40, 60]}  # </script><b>&' },
    counts: {
      chips: chips.length,
      bases: 1,
      refused: 0,
      rows: predicted.length,
      done,
      failed: predicted.length - done,
    },
    networks: o.networks.map((n) => ({ ...n, totals: totalsOf(n.operators) })),
    operators: {
      id: o.operators.map((op) => op.id),
      kind: o.operators.map((op) => op.kind),
      weight: o.operators.map((op) => op.weight),
      about: o.operators.map((op) => `C[m,n] +=! A[m,k] * B[k,n] of ${op.id}`),
      command: o.operators.map((op) => `--suite roller --only ${op.id}`),
    },
    axes: o.axes.map((a, i) => ({
      name: a.name,
      values: a.values.map((v) => (a.unit === '' ? String(v) : `${short(v)} ${a.unit}`)),
      numbers: a.values,
      unit: a.unit,
      group: i,
      settable: true,
    })),
    chips: {
      arch: { dictionary: ['v100'], codes: chips.map(() => 0) },
      base: chips.map(() => base),
      axis: o.axes.map((_, i) => chips.map((c) => c.index[i] ?? 0)),
      quantities: [
        { name: 'peak f32', unit: 'FLOP/s', values: chips.map((c) => short(c.cores * c.clock * 128e9)) },
        { name: 'dram bandwidth', unit: 'B/s', values: chips.map((c) => short(c.channels * 14e9)) },
        { name: 'smem capacity', unit: 'B', values: chips.map((c) => c.cores * 98304) },
      ],
      totals,
      bound: boundOf(o, chips.length, predicted, bottleneck),
      refused: { dictionary: [], codes: chips.map(() => null) },
      roofs: roofsOf(chips),
    },
    rows: {
      predicted_us: predicted,
      simulated_us: simulated,
      measured_us: measured,
      ratio: { predicted: over(predicted), simulated: simulated && over(simulated) },
      band: {
        low_ratio: [0.84, 0.9],
        high_ratio: [1.12, 1.3],
        codes: predicted.map((us, row) => (us === null ? null : row % operators === 0 ? 0 : 1)),
      },
      bottleneck,
      waves: predicted.map((us) => (us === null ? null : 6.4)),
      occupancy: { dictionary: ['38 %, registers'], codes: predicted.map((us) => (us === null ? null : 0)) },
      program: predicted.map((us, row) => (us === null ? null : programOf(chips[Math.floor(row / operators)] as Chip))),
      error,
      work: {
        flop: { 'fma.f32': range(operators, (i) => workOf(i).flop) },
        bytes: { dram: range(operators, (i) => workOf(i).dram), smem: range(operators, (i) => workOf(i).smem) },
        codes: predicted.map((us, row) => (us === null ? null : row % operators)),
      },
    },
    programs: {
      fields: [
        { name: 'axes', texts: { dictionary: ['m x n x k'], codes: [0, 0, 0] } },
        { name: 'block tile', texts: { dictionary: ['32x64x16', '64x128x16', '128x128x8'], codes: [0, 1, 2] } },
        { name: 'thread tile', texts: { dictionary: ['8x4', '8x8'], codes: [0, 1, 1] } },
        { name: 'threads', texts: { dictionary: ['64', '128', '256'], codes: [0, 1, 2] } },
        { name: 'layout', texts: { dictionary: ['per_thread 2', 'A+1'], codes: [0, null, 1] } },
      ],
    },
    accuracy: simulated
      ? [{ ours: 'predicted', truth: 'simulated', kinds: [kindOf(o, 'matmul'), kindOf(o, 'all')] }]
      : [],
  };
}

const kindOf = (o: SampleOptions, kind: string) => ({
  kind,
  compared: o.operators.length,
  mape_ratio: 0.0764,
  median_error_ratio: 0.0812,
  bias_ratio: -0.0012,
  spearman: 0.987,
  kendall: 0.912,
  within_band_ratio: 0.83,
});

const programOf = (chip: Chip): number => (chip.banks >= 32 ? (chip.cores > 80 ? 2 : 0) : 1);

/** The chip that is nearest to 80 cores, 32 banks, 1.38 GHz and 64 channels. */
function nearestBase(chips: readonly Chip[]): number {
  const far = (c: Chip) =>
    Math.abs(c.cores / 80 - 1) +
    Math.abs(c.banks / 32 - 1) +
    Math.abs(c.clock / 1.38 - 1) +
    Math.abs(c.channels / 64 - 1);
  return chips.reduce((best, c, i) => (far(c) < far(chips[best] as Chip) ? i : best), 0);
}

function boundOf(o: SampleOptions, chips: number, predicted: Column, bottleneck: Coded): Report['chips']['bound'] {
  const operators = o.operators.length;
  const shares = kTerms.map((_, term) =>
    range(chips, (chip) => {
      let [sum, all] = [0, 0];
      for (let i = 0; i < operators; ++i) {
        const row = chip * operators + i;
        const us = predicted[row];
        if (us === null || us === undefined) return null;
        const weighted = us * (o.operators[i]?.weight ?? 1);
        all += weighted;
        if (bottleneck.codes[row] === term) sum += weighted;
      }
      return short(sum / all);
    }),
  );
  return { names: kTerms, shares };
}

/**
 * The small sweep as a multi-fidelity one: the fastest predicted chip is the front, every fifth other one the validation sample,
 * with the simulated totals of `sample`, and intervals from 0.6 to 1.5 of them.
 */
export function multi_fidelity(): Report {
  const r = sample(kSmall);
  const [predicted, simulated] = [r.chips.totals[0]?.total_us ?? [], r.chips.totals[1]?.total_us ?? []];
  const front = predicted.reduce((best: number, us, i) => ((us as number) < (predicted[best] as number) ? i : best), 1);
  const reason = (chip: number): Chosen | null =>
    chip === 0 ? 'base' : chip === front ? 'front' : chip % 5 === 0 ? 'validation' : null;
  const reasons: Chosen[] = ['base', 'front', 'neighbour', 'validation'];
  const chosen = r.chips.base.map((_, chip) => reason(chip));
  const us = (chip: number) => (chosen[chip] ? simulated[chip] : predicted[chip]) as number;
  const low = chosen.map((_, chip) => 0.6 * us(chip));
  const high = chosen.map((_, chip) => 1.5 * us(chip));
  const chips = r.chips.base
    .map((_, chip) => chip)
    .filter((chip) => chosen[chip])
    .sort((a, b) => us(a) - us(b));
  const faster = (a: number, b: number) => ((high[a] as number) < (low[b] as number) ? a : null);
  r.multi_fidelity = {
    mode: 'sampled',
    seed: 1,
    cost: null,
    chosen: { base: 1, front: 1, neighbour: 0, validation: chips.length - 2 },
    ratio: {
      n: chips.length - 2,
      population: 44,
      median_ratio: 1,
      least_ratio: 0.88,
      most_ratio: 1.12,
      low_ratio: 0.6,
      high_ratio: 1.5,
      coverage_ratio: 0.8,
    },
    simulated: chips.map((point) => ({
      point,
      chosen: chosen[point] as Chosen,
      cost: null,
      predicted_us: predicted[point] as number,
      simulated_us: us(point),
      low_us: low[point] ?? null,
      high_us: high[point] ?? null,
    })),
    differences: chips
      .filter((chip) => chip !== front)
      .map((chip) => ({
        points: [front, chip] as [number, number],
        predicted_ratio: (predicted[chip] as number) / (predicted[front] as number),
        simulated_ratio: us(chip) / us(front),
        faster: faster(front, chip),
      })),
    not_simulated: { points: r.counts.chips - chips.length, slower_beyond_band: 0 },
    no_claims: null,
    chips: {
      chosen: { dictionary: reasons, codes: chosen.map((c) => (c ? reasons.indexOf(c) : null)) },
      cost: null,
      low_us: low,
      high_us: high,
    },
  };
  return r;
}
