// SPDX-License-Identifier: Apache-2.0
// What energy, area and price of the selected chip consist of, beside its base: bars to one scale, and the numbers.

import { chipName } from '../card';
import { seriesFill } from '../colour';
import type { Whole } from '../data';
import { absent, h, type Child } from '../dom';
import { percent, quantity, ratio } from '../format';
import type { State } from '../state';

/** Smaller shares nobody sees in a bar; the table has them. */
const kLeast = 0.004;

interface Side {
  chip: number;
  name: string;
  of: (number | null)[]; // of every part
  known: number; // of its parts, the sum of those that are known
  whole: boolean; // all are
}

export function partsView(state: State): Child {
  const wholes = state.report.chips.parts ?? [];
  if (wholes.length === 0) return null;
  const title = h('h2', {}, `Parts of ${wholes.map((w) => w.name).join(', ')}`);
  const note = h('p', { className: 'note' });
  const columns = h('div', { className: 'wholes' });
  const section = h('section', { id: 'parts', className: 'wide' }, title, note, columns);
  state.watch(['chip'], () => {
    const { chip } = state.get();
    note.textContent =
      chip === null
        ? 'Select a chip in any drawing or table to see what its figures consist of.'
        : `${chipName(chip)} beside its base; bars of one figure have one scale.`;
    columns.replaceChildren(...(chip === null ? [] : wholes.map((w) => wholeOf(state, w, chip))));
  });
  return section;
}

function sidesOf(state: State, whole: Whole, chip: number): Side[] {
  const base = state.report.chips.base[chip] ?? null;
  const side = (c: number, name: string): Side => {
    const of = whole.parts.map((p) => p.values[c] ?? null);
    const known = of.reduce((sum: number, v) => sum + (v ?? 0), 0);
    return { chip: c, name, of, known, whole: of.every((v) => v !== null) };
  };
  if (base === null || base === chip) return [side(chip, base === chip ? `base, ${chipName(chip)}` : chipName(chip))];
  return [side(base, `base, ${chipName(base)}`), side(chip, chipName(chip))];
}

function wholeOf(state: State, whole: Whole, chip: number): HTMLElement {
  const sides = sidesOf(state, whole, chip);
  const host = h('div', { className: 'whole', data: { whole: whole.name } }, h('h3', {}, capital(whole.name)));
  if (sides.every((s) => s.of.every((v) => v === null))) {
    host.append(absent(`The files of these chips lack figures for ${whole.name}.`));
    return host;
  }
  const most = Math.max(...sides.map((s) => s.known));
  // A part that is nothing on both sides says nothing.
  const parts = whole.parts.map((_, i) => i).filter((i) => sides.some((s) => s.of[i] !== 0));
  host.append(...sides.map((s) => bar(s, whole, parts, most)), table(sides, whole, parts));
  return host;
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/** A sum without one of its parts is no sum. */
function allOf(side: Side, whole: Whole): string {
  if (side.of.every((v) => v === null)) return 'unknown';
  return `${side.whole ? '' : 'at least '}${quantity(side.known, whole.unit)}`;
}

function bar(side: Side, whole: Whole, parts: readonly number[], most: number): HTMLElement {
  const pieces = parts.map((i) => {
    const value = side.of[i] ?? 0;
    const share = most > 0 ? value / most : 0;
    if (share < kLeast) return null;
    const title = `${whole.parts[i]?.name ?? ''}: ${quantity(value, whole.unit)}, ${percent(value / side.known)}`;
    return h('i', {
      title,
      style: { width: `${(100 * share).toFixed(3)}%`, background: seriesFill(parts.indexOf(i)) },
    });
  });
  const said = parts.map((i) => `${whole.parts[i]?.name ?? ''} ${quantity(side.of[i], whole.unit)}`).join(', ');
  return h(
    'div',
    { className: 'stacked' },
    h('span', {}, `${side.name}: ${allOf(side, whole)}`),
    h('div', { className: 'stack', aria: { role: 'img', label: `${side.name}: ${said}` } }, ...pieces),
  );
}

function table(sides: readonly Side[], whole: Whole, parts: readonly number[]): HTMLElement {
  const two = sides.length === 2;
  const head = ['part', ...sides.map((s) => s.name), ...(two ? ['of base'] : ['share'])];
  const last = (values: (number | null)[], all: number | undefined): string => {
    const [a, b] = values;
    if (!two) return typeof a === 'number' && all ? percent(a / all) : '';
    return typeof a === 'number' && typeof b === 'number' && a !== 0 ? ratio(b / a) : '';
  };
  const row = (name: Child, values: (number | null)[], texts = values.map((v) => quantity(v, whole.unit))) =>
    h('tr', {}, h('td', {}, name), ...texts.map((t) => h('td', {}, t)), h('td', {}, last(values, sides[0]?.known)));
  const named = (i: number, place: number) =>
    h(
      'span',
      {},
      h('span', { className: 'swatch', style: { background: seriesFill(place) } }),
      whole.parts[i]?.name ?? '',
    );
  return h(
    'div',
    { className: 'scroll' },
    h(
      'table',
      { className: 'figures' },
      h('thead', {}, h('tr', {}, ...head.map((text) => h('th', { aria: { scope: 'col' } }, text)))),
      h(
        'tbody',
        {},
        ...parts.map((i, place) =>
          row(
            named(i, place),
            sides.map((s) => s.of[i] ?? null),
          ),
        ),
      ),
      h(
        'tfoot',
        {},
        row(
          'all',
          sides.map((s) => (s.whole ? s.known : null)),
          sides.map((s) => allOf(s, whole)),
        ),
      ),
    ),
  );
}
