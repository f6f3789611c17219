// SPDX-License-Identifier: Apache-2.0
// The roofline of a chip (Williams et al., 2009): what its instructions and levels allow at most, and how far below
// that each kernel is. Work is that which programs do, multiply-adds beyond a tensor's edge included, and a
// multiply-add is two FLOP, as peaks count them.
// Ignores: what of a peak calibration says can be reached.

import { rowOf, textOf, timesOf, type Report, type Roof } from './data';
import type { State } from './state';

/** The program of one operator on one chip; it may be several kernels. */
export interface Kernel {
  operator: number;
  us: number;
  share: number; // of the weighted time of the operators that are looked at
  bound: string;
  instruction: string; // the one that takes longest at its peak
  flop: number; // of that instruction
  bytes: number; // that pass the level
  intensity: number; // FLOP/B
  rate: number; // FLOP/s
  ceiling: number; // FLOP/s, what instruction and level allow at that intensity
}

export interface Roofline {
  level: string;
  kernels: Kernel[];
  without: { operator: number; why: 'time' | 'work' | 'bytes' }[];
  peaks: { of: string; rate: number }[]; // of the instructions of these kernels, the highest first
  levels: { of: string; rate: number }[]; // outermost first
}

const kMicro = 1e-6;

export const hasRoofline = (r: Report): boolean =>
  r.rows.work !== undefined && (r.chips.roofs ?? []).some((f) => f.unit === 'FLOP/s');

/** The levels that have a bandwidth and bytes, outermost first. */
export function levelsOf(r: Report): string[] {
  const moved = new Set(Object.keys(r.rows.work?.bytes ?? {}));
  return roofs(r, 'B/s')
    .map((f) => f.of)
    .filter((of) => moved.has(of));
}

const roofs = (r: Report, unit: Roof['unit']): Roof[] => (r.chips.roofs ?? []).filter((f) => f.unit === unit);

/** What the chip has of it; null where it has no such instruction or level. */
function roofOf(f: Roof | undefined, chip: number): number | null {
  if (!f) return null;
  const code = f.codes ? f.codes[chip] : 0;
  return code === null || code === undefined ? null : (f.values[code] ?? null);
}

/** The operators that are looked at: those of the chosen network, or all. */
export const operatorsOf = (state: State): number[] =>
  state.report.networks[state.get().network ?? -1]?.operators ?? state.report.operators.id.map((_, i) => i);

export function rooflineOf(state: State, chip: number, level: string): Roofline {
  const r = state.report;
  const found = operatorsOf(state).map((operator) => kernelOf(state, chip, operator, level));
  const kernels = found.filter((k): k is Kernel => typeof k !== 'string');
  const weighted = (operator: number) =>
    (timesOf(r.rows, state.get().source)?.[rowOf(r, chip, operator)] ?? 0) * (r.operators.weight[operator] ?? 1);
  const all = operatorsOf(state).reduce((sum, operator) => sum + weighted(operator), 0);
  for (const k of kernels) k.share = all > 0 ? weighted(k.operator) / all : 0;
  const without = found.flatMap((why, i) =>
    typeof why === 'string' ? [{ operator: operatorsOf(state)[i] as number, why }] : [],
  );
  const used = new Set(kernels.map((k) => k.instruction));
  const known = (unit: Roof['unit']) =>
    roofs(r, unit).flatMap((f) => {
      const rate = roofOf(f, chip);
      return rate === null ? [] : [{ of: f.of, rate }];
    });
  const peaks = known('FLOP/s').sort((a, b) => b.rate - a.rate);
  const drawn = peaks.filter((p) => used.has(p.of));
  return { level, kernels, without, peaks: drawn.length > 0 ? drawn : peaks.slice(0, 1), levels: known('B/s') };
}

function kernelOf(state: State, chip: number, operator: number, level: string): Kernel | 'time' | 'work' | 'bytes' {
  const r = state.report;
  const row = rowOf(r, chip, operator);
  const us = timesOf(r.rows, state.get().source)?.[row];
  if (typeof us !== 'number' || us <= 0) return 'time';
  const entry = r.rows.work?.codes[row];
  if (entry === null || entry === undefined) return 'work';
  const slowest = slowestInstruction(r, chip, entry);
  if (!slowest) return 'work';
  const bytes = r.rows.work?.bytes[level]?.[entry] ?? 0;
  const bandwidth = roofOf(
    roofs(r, 'B/s').find((f) => f.of === level),
    chip,
  );
  if (bytes <= 0 || bandwidth === null) return 'bytes';
  const intensity = slowest.flop / bytes;
  return {
    operator,
    us,
    share: 0,
    bound: textOf(r.rows.bottleneck, row) ?? '',
    instruction: slowest.name,
    flop: slowest.flop,
    bytes,
    intensity,
    rate: slowest.flop / (us * kMicro),
    ceiling: Math.min(slowest.peak, intensity * bandwidth),
  };
}

/** Of the instructions that the program executes the one that takes longest at its peak. */
function slowestInstruction(
  r: Report,
  chip: number,
  entry: number,
): { name: string; flop: number; peak: number } | null {
  let slowest: { name: string; flop: number; peak: number } | null = null;
  for (const [name, column] of Object.entries(r.rows.work?.flop ?? {})) {
    const flop = column[entry] ?? 0;
    const peak = roofOf(
      roofs(r, 'FLOP/s').find((f) => f.of === name),
      chip,
    );
    if (flop <= 0 || peak === null) continue;
    if (!slowest || flop / peak > slowest.flop / slowest.peak) slowest = { name, flop, peak };
  }
  return slowest;
}
