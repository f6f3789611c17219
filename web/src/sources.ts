// SPDX-License-Identifier: Apache-2.0
// Where the numbers of a chip come from: which parts of it bind its times, which marks its figures bear, what the sweep
// has set, and which measured rows are nearest to its predictions.

import { differs } from './card';
import { rowOf, textOf, valueOf, type BaseSources, type Report } from './data';
import { operatorsOf } from './roofline';
import type { State } from './state';

export interface SourcedFigure {
  key: string;
  value: string;
  mark: string; // one letter; empty where the file has none or the sweep has set it
  source: string;
  at: string;
  was: string | null; // the base's value, where the sweep has set another
}

export interface Part {
  name: string; // a level, an instruction, another part of the file; empty: the chip as a whole
  share: number; // of the weighted predicted time, that of the operators that it binds
  figures: SourcedFigure[];
}

/** What the letters mean (docs/chips.md). */
export const kMarks: Record<string, string> = {
  D: 'data sheet or manual, or arithmetic on it',
  M: 'measured',
  S: 'published code or text',
  P: 'paper or manual, from memory',
  E: 'estimate',
  C: 'computed from such figures',
  F: 'fitted to measurements of others',
  X: 'made up',
};

/** The sources of the chip's base. */
export const sourcesOf = (r: Report, chip: number): BaseSources | null =>
  r.bases?.find((b) => b.chip === r.chips.base[chip]) ?? null;

/** The parts that bind something first, the largest share before others; then the rest, as the file has them. */
export function partsOf(state: State, chip: number): Part[] {
  const r = state.report;
  const base = sourcesOf(r, chip);
  if (!base) return [];
  const shares = sharesOf(state, chip);
  const parts = new Map<string, Part>();
  for (const f of base.figures) {
    const part = parts.get(f.part) ?? { name: f.part, share: shares.get(f.part) ?? 0, figures: [] };
    part.figures.push(figureOf(r, chip, f));
    parts.set(f.part, part);
  }
  return [...parts.values()].sort((a, b) => b.share - a.share);
}

function figureOf(r: Report, chip: number, f: BaseSources['figures'][number]): SourcedFigure {
  const path = f.part === '' ? f.key : `${f.part}.${f.key}`;
  const axis = r.axes.findIndex((a) => a.name === path);
  const { key, value, mark = '', source = '', at } = f;
  if (axis < 0 || !differs(r, axis, chip)) return { key, value, mark, source, at, was: null };
  return { key, value: valueOf(r, axis, chip), mark: '', source: 'set by the sweep', at: '', was: value };
}

/** Of each part the share of the time that its term bounds: a level's own, arithmetic that of the instructions used. */
function sharesOf(state: State, chip: number): Map<string, number> {
  const r = state.report;
  const out = new Map<string, number>();
  let all = 0;
  for (const operator of operatorsOf(state)) {
    const row = rowOf(r, chip, operator);
    const us = r.rows.predicted_us[row];
    const term = textOf(r.rows.bottleneck, row);
    if (typeof us !== 'number' || term === null) continue;
    const weighted = us * (r.operators.weight[operator] ?? 1);
    all += weighted;
    for (const part of partsOfTerm(r, row, term)) out.set(part, (out.get(part) ?? 0) + weighted);
  }
  for (const [part, sum] of out) out.set(part, all > 0 ? sum / all : 0);
  return out;
}

function partsOfTerm(r: Report, row: number, term: string): string[] {
  if (term === 'launch') return [''];
  if (term !== 'arithmetic' && term !== 'compute') {
    const level = r.chips.roofs?.some((f) => f.unit === 'B/s' && f.of === term) ?? false;
    return [level ? `memory.${term}` : 'core'];
  }
  const entry = r.rows.work?.codes[row];
  const used = Object.entries(r.rows.work?.flop ?? {}).filter(([, column]) => (column[entry ?? -1] ?? 0) > 0);
  return ['core', ...used.map(([name]) => `compute.${name}`)];
}

/** "[D] 61, [M] 12": how many figures bear each mark, those without last. */
export function marksIn(parts: readonly Part[]): [string, number][] {
  const counts = new Map<string, number>();
  for (const { figures } of parts) for (const f of figures) if (f.was === null) add(counts, f.mark);
  return [...counts].sort(([a], [b]) => Number(a === '') - Number(b === '') || (a < b ? -1 : 1));
}

const add = (counts: Map<string, number>, mark: string): void => void counts.set(mark, (counts.get(mark) ?? 0) + 1);

/** The measured rows that are nearest to the predictions of one kind of operator. */
export interface Residual {
  kind: string;
  operators: number;
  low: number | null; // 80 % of measured times over predicted ones lie from here
  high: number | null;
  rows: number | null;
  source: string;
  holds: boolean; // for this chip; else it is that of the base as it is
}

/** One entry a kind of operator. The band of a row is found again in the base's file by its ends. */
export function residualsOf(state: State, chip: number): Residual[] {
  const r = state.report;
  const base = r.chips.base[chip] ?? chip;
  const kinds = new Map<string, number[]>();
  for (const operator of operatorsOf(state)) {
    const kind = r.operators.kind[operator] ?? '';
    kinds.set(kind, [...(kinds.get(kind) ?? []), operator]);
  }
  return [...kinds].map(([kind, operators]) => {
    const found = (of: number) => operators.map((o) => bandOf(r, of, o)).find((b) => b !== null) ?? null;
    const own = found(chip);
    const band = own ?? found(base);
    const stated = band ? statedBand(sourcesOf(r, chip), band) : null;
    return {
      kind,
      operators: operators.length,
      low: band?.[0] ?? null,
      high: band?.[1] ?? null,
      rows: stated?.rows ?? null,
      source: stated ? `${stated.name}: ${stated.source}` : '',
      holds: own !== null,
    };
  });
}

function bandOf(r: Report, chip: number, operator: number): [number, number] | null {
  const code = r.rows.band.codes[rowOf(r, chip, operator)];
  const [low, high] = [r.rows.band.low_ratio[code ?? -1], r.rows.band.high_ratio[code ?? -1]];
  return low === undefined || high === undefined ? null : [low, high];
}

const kDigits = 2e-4; // the document's ratios have four

function statedBand(
  base: BaseSources | null,
  [low, high]: [number, number],
): { name: string; rows: number | null; source: string } | null {
  const same = (a: number, b: number) => Math.abs(a / b - 1) < kDigits;
  const found = Object.entries(base?.error_bands ?? {}).find(([, b]) => same(b.low, low) && same(b.high, high));
  return found ? { name: found[0], rows: found[1].rows ?? null, source: found[1].source ?? '' } : null;
}
