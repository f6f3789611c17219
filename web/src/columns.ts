// SPDX-License-Identifier: Apache-2.0
// The columns that the table of chips shows and the filter line names.

import { differs } from './card';
import { shortNames, textOf, valueOf, type Quantity, type Report } from './data';
import { quantity, ratio, time } from './format';
import { budgetsInWords, kTime, violationText } from './measures';
import type { TableColumn } from './sorted_list';
import type { State } from './state';

const known = new WeakMap<State, TableColumn[]>();

export function columnsOf(state: State): readonly TableColumn[] {
  const columns = known.get(state) ?? makeColumns(state);
  known.set(state, columns);
  return columns;
}

function makeColumns(state: State): TableColumn[] {
  const r = state.report;
  const short = shortNames(r.axes.map((a) => a.name));
  const operators = r.operators.id.length;
  const done = r.chips.base.map((_, chip) => {
    const rows = r.rows.predicted_us.slice(chip * operators, (chip + 1) * operators);
    return rows.filter((us) => us !== null).length;
  });
  return [
    { name: 'chip', names: ['chip'], unit: '', number: (c) => c, text: (c) => String(c) },
    ...r.axes.map((axis, i) => ({
      name: short[i] ?? axis.name,
      names: [short[i] ?? axis.name, axis.name],
      unit: axis.unit,
      number: (c: number) => axis.numbers[r.chips.axis[i]?.[c] ?? -1] ?? null,
      text: (c: number) => valueOf(r, i, c),
      other: (c: number) => differs(r, i, c),
    })),
    {
      name: 'time',
      names: ['time'],
      unit: 'us',
      number: (c) => state.times()[c] ?? null,
      text: (c) => (typeof state.times()[c] === 'number' ? time(state.times()[c]) : ''),
    },
    {
      name: 'of base',
      names: ['of base', 'ratio'],
      unit: '',
      number: (c) => state.ratios()[c] ?? null,
      text: (c) => ratio(state.ratios()[c]),
    },
    ...(r.objectives ?? []).filter((o) => o.name !== kTime).map(quantityColumn),
    ...violationColumn(r),
    ...simulatedColumns(state),
    { name: 'mostly bound by', names: ['bound by'], unit: '', number: () => null, text: (c) => mostlyBoundBy(r, c) },
    ...r.chips.quantities.filter((q) => !r.objectives?.some((o) => o.name === q.name)).map(quantityColumn),
    {
      name: 'operators',
      names: ['operators'],
      unit: '',
      number: (c) => done[c] ?? 0,
      text: (c) => (textOf(r.chips.refused, c) ? 'refused' : `${done[c] ?? 0} of ${operators}`),
    },
  ];
}

const quantityColumn = (q: Quantity): TableColumn => ({
  name: q.name,
  names: [q.name],
  unit: q.unit,
  number: (c: number) => q.values[c] ?? null,
  text: (c: number) => (typeof q.values[c] === 'number' ? quantity(q.values[c], q.unit) : ''),
});

/** Of a sweep with budgets: whether the chip keeps to them. */
function violationColumn(r: Report): TableColumn[] {
  const by = r.chips.violation;
  if (!by) return [];
  return [
    {
      name: 'beyond budget',
      names: ['beyond budget', 'violation'],
      unit: '%',
      number: (c) => by[c] ?? null,
      text: (c) => violationText(by[c]),
      about: `by how much of the bounds the chip exceeds ${budgetsInWords(r)}`,
    },
  ];
}

/** Of a multi-fidelity sweep: the simulated total, and why the chip was simulated. */
function simulatedColumns(state: State): TableColumn[] {
  const e = state.report.multi_fidelity;
  if (!e) return [];
  const us = (c: number) => state.timesBy('simulated')[c] ?? null;
  return [
    {
      name: 'simulated',
      names: ['simulated'],
      unit: 'us',
      number: us,
      text: (c) => (us(c) === null ? '' : time(us(c))),
    },
    { name: 'chosen', names: ['chosen'], unit: '', number: () => null, text: (c) => textOf(e.chips.chosen, c) ?? '' },
  ];
}

/** What bounds the operators that take most of the chip's weighted time. */
function mostlyBoundBy(r: Report, chip: number): string {
  const { names, shares } = r.chips.bound;
  let most = -1;
  shares.forEach((s, i) => {
    if ((s[chip] ?? -1) > (shares[most]?.[chip] ?? -1)) most = i;
  });
  return names[most] ?? '';
}
