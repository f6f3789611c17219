// SPDX-License-Identifier: Apache-2.0
// The lanes of parallel coordinates: for every axis of the sweep and every objective, where along its lane a chip lies,
// from 0 to 1, and what the filter line says of it.

import { columnsOf } from './columns';
import type { Column, Report } from './data';
import { rangeOf, withConditions, type FilterColumn } from './filter';
import { parseQuantity, quantity, written } from './format';
import { budgetsOf, type Measure } from './measures';
import type { State } from './state';
import { scaleOf } from './ticks';

export interface Mark {
  at: number;
  text: string;
}

export interface Lane {
  name: string;
  column: FilterColumn;
  of: Column; // of every chip, its place from 0 to 1
  marks: Mark[];
  budgets: Mark[];
  stops: number[] | null; // the places of an axis' values; null where a lane has all places
  textAt: (place: number) => string;
  /** The conditions that hold from place to place; null where the filter line has no words for its values. */
  conditions: ((low: number, high: number) => string[]) | null;
  /** From place to place of what the filter line says. */
  range: (line: string) => [number, number];
}

const kMostMarks = 9;
const kLeastApart = 0.14; // of marks along a lane
const kTie = 1e-9;

export function lanesOf(state: State): Lane[] {
  const columns = columnsOf(state);
  const find = (name: string) => columns.find((c) => c.names.includes(name));
  const axes = soleAxes(state.report).flatMap((i) => {
    const column = find(state.report.axes[i]?.name ?? '');
    return column ? [axisLane(state.report, i, column)] : [];
  });
  const { x, y } = state.get();
  const measures = state.measures.filter((m, i) => m.objective || m.values === null || i === x || i === y);
  const named = new Set(state.report.axes.map((a) => a.name));
  const others = measures
    .filter((m) => !named.has(m.name))
    .flatMap((m) => {
      const column = find(m.name);
      return column ? [measureLane(state, m, column)] : [];
    });
  return [...axes, ...others];
}

/** Axes of more than one value; of those that move together the first. */
function soleAxes(r: Report): number[] {
  const groups = new Set<number>();
  return r.axes
    .map((_, i) => i)
    .filter((i) => {
      const { group, values } = r.axes[i] ?? { group: null, values: [] };
      if (values.length < 2 || (group !== null && groups.has(group))) return false;
      if (group !== null) groups.add(group);
      return true;
    });
}

/** The values of an axis have equal distances: numbers from the least on, else as the sweep lists them. */
function axisLane(r: Report, i: number, column: FilterColumn): Lane {
  const { values, numbers } = r.axes[i] ?? { values: [], numbers: [] };
  const numeric = values.every((_, v) => typeof numbers[v] === 'number');
  const order = values.map((_, v) => v);
  if (numeric) order.sort((a, b) => (numbers[a] as number) - (numbers[b] as number));
  const last = Math.max(1, order.length - 1);
  const placeOf = new Map(order.map((v, place) => [v, place / last]));
  const at = (place: number) => order[Math.round(place * last)] ?? 0;
  const text = (place: number) => values[at(place)] ?? '';
  const every = Math.ceil(order.length / kMostMarks);
  const speakable = numeric || values.every((v) => /^[^,;|<>=()]+$/.test(v));
  const name = column.names[0] ?? '';
  const said = (place: number): string => {
    const number = numbers[at(place)] ?? 0;
    return parseQuantity(text(place), column.unit) === null ? written(number, column.unit) : text(place);
  };
  const conditions = (low: number, high: number): string[] => {
    if (numeric) return bounds(name, low > kTie ? said(low) : null, high < 1 - kTie ? said(high) : null);
    const wanted = order.filter((_, p) => p / last >= low - kTie && p / last <= high + kTie);
    return wanted.length === order.length ? [] : [`${name} = ${wanted.map((v) => values[v]).join('|')}`];
  };
  const range = (line: string): [number, number] => {
    const found = rangeOf(line, column);
    if (!found) return [0, 1];
    const kept = order.filter((v) => {
      const x = numbers[v];
      if (numeric && typeof x === 'number')
        return x >= lower(found.low ?? -Infinity) && x <= upper(found.high ?? Infinity);
      return found.texts?.some((t) => t.toLowerCase() === values[v]?.toLowerCase()) ?? true;
    });
    const places = kept.map((v) => placeOf.get(v) ?? 0);
    return places.length === 0 ? [0, 1] : [Math.min(...places), Math.max(...places)];
  };
  return {
    name,
    column,
    of: (r.chips.axis[i] ?? []).map((v) => (v === null ? null : (placeOf.get(v) ?? null))),
    marks: order.flatMap((v, p) => (p % every === 0 ? [{ at: p / last, text: values[v] ?? '' }] : [])),
    budgets: [],
    stops: order.map((_, p) => p / last),
    textAt: text,
    conditions: speakable ? conditions : null,
    range,
  };
}

// Numbers of the line have four digits.
const lower = (x: number): number => x - 1e-6 * Math.abs(x);
const upper = (x: number): number => x + 1e-6 * Math.abs(x);

function measureLane(state: State, m: Measure, column: FilterColumn): Lane {
  const values = state.valuesOf(m);
  const { log, min, max, ticks } = scaleOf(values, m.unit);
  const [from, to] = log ? [Math.log(min), Math.log(max)] : [min, max];
  const place = (x: number) => ((log ? Math.log(x) : x) - from) / (to - from);
  const valueAt = (p: number) => (log ? Math.exp(from + p * (to - from)) : from + p * (to - from));
  const clamped = (p: number) => Math.min(1, Math.max(0, p));
  const marked = (x: number, text: string) => ({ at: place(x), text });
  const name = column.names[0] ?? '';
  return {
    name,
    column,
    of: values.map((v) => (v === null ? null : place(v))),
    marks: apart(ticks.map((t) => marked(t, quantity(t, m.unit)))),
    budgets: budgetsOf(state.report, m)
      .map((b) => marked(b.bound, b.text))
      .filter((b) => b.at >= 0 && b.at <= 1),
    stops: null,
    textAt: (p) => quantity(valueAt(p), m.unit),
    conditions: (low, high) =>
      bounds(
        name,
        low > kTie ? written(short(valueAt(low), Math.floor), m.unit) : null,
        high < 1 - kTie ? written(short(valueAt(high), Math.ceil), m.unit) : null,
      ),
    range: (line) => {
      const found = rangeOf(line, column);
      const at = (x: number | null, none: number) => (x === null ? none : log && x <= 0 ? 0 : clamped(place(x)));
      return found ? [at(found.low, 0), at(found.high, 1)] : [0, 1];
    },
  };
}

/** Without the marks that would be written over others. */
function apart(marks: readonly Mark[]): Mark[] {
  const kept: Mark[] = [];
  for (const m of marks) if (m.at - (kept.at(-1)?.at ?? -1) >= kLeastApart) kept.push(m);
  return kept;
}

function bounds(name: string, low: string | null, high: string | null): string[] {
  return [...(low === null ? [] : [`${name} >= ${low}`]), ...(high === null ? [] : [`${name} <= ${high}`])];
}

/** To three digits, away from what is kept. */
function short(x: number, round: (x: number) => number): number {
  if (x === 0) return 0;
  const scale = 10 ** (Math.floor(Math.log10(Math.abs(x))) - 2);
  return Number((round(x / scale) * scale).toPrecision(3));
}

/** The filter line with the lane's range in it. */
export const lineWith = (line: string, lane: Lane, low: number, high: number): string =>
  withConditions(line, lane.column, lane.conditions?.(low, high) ?? []);
