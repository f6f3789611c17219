// SPDX-License-Identifier: Apache-2.0
// What of chips is a number that drawings weigh: time, the sweep's objectives, quantities of the chips, swept numbers;
// and the budgets that the sweep sets them.

import type { Better, Column, Constraint, Report } from './data';
import { parseQuantity, percent, quantity, readable } from './format';

export interface Measure {
  name: string;
  unit: string;
  /** Null: the time that is looked at, which the reader chooses (State.times). */
  values: Column | null;
  better: Better;
  /** Whether the sweep says what is better; else the reader may. */
  fixed: boolean;
  objective: boolean;
}

export const kTime = 'time';

/** Time, then what varies over the chips: objectives, the sweep's own cost, derived quantities, the axes themselves. */
export function measuresOf(r: Report): Measure[] {
  const time = r.objectives?.find((o) => o.name === kTime);
  const objectives = (r.objectives ?? [])
    .filter((o) => o !== time)
    .map((o): Measure => ({ ...o, fixed: true, objective: true }));
  const e = r.multi_fidelity;
  const own = e?.cost && e.chips.cost ? [costOf(e.cost, '', e.chips.cost)] : [];
  const quantities = r.chips.quantities.map((q) => costOf(q.name, q.unit, q.values));
  const axes = r.axes.flatMap((a, i) =>
    a.numbers.some((n) => n !== null)
      ? [
          costOf(
            a.name,
            a.unit,
            (r.chips.axis[i] ?? []).map((v) => a.numbers[v ?? -1] ?? null),
          ),
        ]
      : [],
  );
  const seen = new Set<string>();
  const others = [...objectives, ...own, ...quantities, ...axes].filter((m) => {
    const again = seen.has(m.name);
    seen.add(m.name);
    return !again && varies(m.values ?? []);
  });
  const first: Measure = {
    name: kTime,
    unit: 'us',
    values: null,
    better: 'less',
    fixed: true,
    objective: time !== undefined || objectives.length === 0,
  };
  return [first, ...others];
}

const costOf = (name: string, unit: string, values: Column): Measure => ({
  name,
  unit,
  values,
  better: 'less',
  fixed: false,
  objective: false,
});

function varies(values: Column): boolean {
  const first = values.find((v) => v !== null);
  return values.some((v) => v !== null && v !== first);
}

/** The sweep's first objective, the time of a sweep that names none: what the headline is about. */
export function firstObjective(r: Report, measures: readonly Measure[]): Measure {
  const name = r.objectives?.[0]?.name ?? kTime;
  return measures.find((m) => m.name === name) ?? (measures[0] as Measure);
}

/** A budget in the unit of a measure. */
export interface Budget {
  bound: number;
  atMost: boolean;
  text: string;
}

export function budgetsOf(r: Report, m: Measure): Budget[] {
  return (r.constraints ?? [])
    .filter((c) => c.name === m.name)
    .flatMap((c) => {
      const bound = c.unit === m.unit ? c.bound : parseQuantity(`${c.bound}${c.unit}`, m.unit);
      return bound === null ? [] : [{ bound, atMost: c.at_most, text: budgetText(c) }];
    });
}

/** "area ≤ 600 mm²". */
export const budgetText = (c: Constraint): string =>
  c.name === '' ? readable(c.text) : `${c.name} ${c.at_most ? '≤' : '≥'} ${quantity(c.bound, c.unit)}`;

/** Whether the chip keeps to every budget; null where that is not known. Without budgets every chip does. */
export function feasible(r: Report, chip: number): boolean | null {
  if (!r.chips.violation) return true;
  const by = r.chips.violation[chip];
  return by === null || by === undefined ? null : by <= 0;
}

/** "area ≤ 600 mm² and power ≤ 300 W"; empty without budgets. */
export function budgetsInWords(r: Report): string {
  const texts = [...new Set((r.constraints ?? []).map(budgetText))];
  return texts.length < 2 ? (texts[0] ?? '') : `${texts.slice(0, -1).join(', ')} and ${texts.at(-1) ?? ''}`;
}

/** "within", "12 %" beyond the bounds. */
export const violationText = (by: number | null | undefined): string =>
  by === null || by === undefined ? 'unknown' : by <= 0 ? 'within' : percent(by);
