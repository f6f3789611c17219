// SPDX-License-Identifier: Apache-2.0
// What a chip is, in a tooltip: its axes, its time, its costs.

import { isBase, valueOf, textOf, type Quantity, type Report } from './data';
import { h } from './dom';
import { quantity, ratio, time } from './format';
import { kTime, violationText } from './measures';
import type { State } from './state';

/** The number is that of the store's point; the bases come first. */
export const chipName = (chip: number): string => `chip ${chip}`;

/** Whether the chip has another value on the axis than its base. */
export function differs(r: Report, axis: number, chip: number): boolean {
  const base = r.chips.base[chip];
  return base !== null && base !== undefined && r.chips.axis[axis]?.[chip] !== r.chips.axis[axis]?.[base];
}

/** "core.count 120, smem.banks 16": what of the chip differs from its base, or all its axes where it has none. */
export function differences(r: Report, chip: number, names: readonly string[]): string {
  if (isBase(r, chip)) return 'the base';
  const some = r.axes.map((_, i) => i).filter((i) => r.chips.base[chip] === null || differs(r, i, chip));
  return some.map((i) => `${names[i] ?? ''} ${valueOf(r, i, chip)}`).join(', ');
}

/** Objectives, then the other numbers that a chip has. */
function quantitiesOf(r: Report): Quantity[] {
  const objectives = (r.objectives ?? []).filter((o) => o.name !== kTime);
  return [...objectives, ...r.chips.quantities.filter((q) => !objectives.some((o) => o.name === q.name))];
}

/** "core.count 120 instead of 80, smem.banks 16 instead of 32", at most so many of them. */
export function changes(r: Report, chip: number, names: readonly string[], most = 5): string {
  const base = r.chips.base[chip];
  if (base === null || base === undefined) return differences(r, chip, names);
  const all = r.axes.map((_, i) => i).filter((i) => differs(r, i, chip));
  const texts = all.slice(0, most).map((i) => {
    const was = valueOf(r, i, base);
    return `${names[i] ?? ''} ${valueOf(r, i, chip)}${was === '' ? '' : ` instead of ${was}`}`;
  });
  const more = all.length > most ? `, ${all.length - most} more` : '';
  return texts.join(', ') + more;
}

export function chipCard(state: State, chip: number, more: [string, string][] = []): HTMLElement {
  const r = state.report;
  const rows: [string, string, boolean][] = [
    ...r.axes.map((a, i): [string, string, boolean] => [a.name, valueOf(r, i, chip), differs(r, i, chip)]),
    [state.timeName(), time(state.times()[chip]), false],
    ['relative to the base', ratio(state.ratios()[chip]) || 'unknown', false],
    ...quantitiesOf(r).map((q): [string, string, boolean] => [q.name, quantity(q.values[chip], q.unit), false]),
    ...(r.chips.violation
      ? [['beyond budget', violationText(r.chips.violation[chip]), false] as [string, string, boolean]]
      : []),
    ...more.map(([name, text]): [string, string, boolean] => [name, text, false]),
  ];
  const title = `${chipName(chip)} on ${textOf(r.chips.arch, chip) ?? ''}${isBase(r, chip) ? ', the base' : ''}`;
  return h(
    'div',
    { className: 'card' },
    h('strong', {}, title),
    h(
      'table',
      {},
      ...rows.map(([name, text, other]) =>
        h('tr', {}, h('td', {}, name), h('td', { className: other ? 'other' : '' }, text)),
      ),
    ),
  );
}
