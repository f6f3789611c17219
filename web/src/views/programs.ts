// SPDX-License-Identifier: Apache-2.0
// The best program of an operator on a chip beside the best one on its base: every chip gets kernels of its own.

import { chipName } from '../card';
import { commandOf, isBase, rowOf, textOf, type Report } from '../data';
import { absent, h } from '../dom';
import { number, ratio, time } from '../format';
import type { State } from '../state';
import { tileSketch } from './sketch';
import { hasStages, stagesList } from './stages';

/** What is shown of the operator on one chip. */
interface Side {
  chip: number;
  name: string;
  fields: Map<string, string>;
}

export function programsOf(state: State, chip: number, operator: number): HTMLElement {
  const r = state.report;
  const id = r.operators.id[operator] ?? '';
  const base = r.chips.base[chip] ?? null;
  const chips = base === null || base === chip ? [chip] : [base, chip];
  const numbers = chips.map((c) => r.rows.program[rowOf(r, c, operator)] ?? null);
  if (numbers.every((n) => n === null)) return absent(`The store holds no program of ${id} for this chip.`);
  const sides = chips.map((c, i) => sideOf(r, c, operator, numbers[i] ?? null));
  const staged = sides.some(hasStages);
  const fields = r.programs.fields.map((f) => f.name);
  const same = numbers.length > 1 && numbers[0] === numbers[1] ? ' The program is that of the base.' : '';
  return h(
    'div',
    { className: 'programs' },
    h('h3', {}, `Best program of ${id}`),
    ...(staged ? [statements(r.operators.about[operator] ?? '')] : []),
    h('p', { className: 'note' }, staged ? '' : (r.operators.about[operator] ?? ''), same),
    h('div', { className: 'scroll' }, table(sides, staged ? fields : [])),
    ...(staged ? stagesList(sides, fields) : []),
    tileSketch(sides.map(({ name, fields }) => ({ name, tile: (field) => fields.get(field) ?? '' }))),
    ...chips.map((c) => command(commandOf(r, c, operator))),
  );
}

function sideOf(r: Report, chip: number, operator: number, program: number | null): Side {
  const row = rowOf(r, chip, operator);
  const us = r.rows.predicted_us[row];
  const waves = r.rows.waves[row];
  const fields = new Map<string, string>();
  for (const f of r.programs.fields) fields.set(f.name, program === null ? '' : (textOf(f.texts, program) ?? ''));
  fields.set('waves', typeof waves === 'number' ? number(waves) : '');
  fields.set('occupancy', textOf(r.rows.occupancy, row) ?? '');
  fields.set('predicted', typeof us === 'number' ? time(us) : '');
  fields.set('of base', ratio(r.rows.ratio.predicted[row]));
  fields.set('bound by', textOf(r.rows.bottleneck, row) ?? '');
  return { chip, name: isBase(r, chip) ? `base, ${chipName(chip)}` : chipName(chip), fields };
}

/** The operator's statements, one a line. */
function statements(about: string): HTMLElement {
  return h('pre', { className: 'command', tabIndex: 0 }, about.replaceAll('; ', '\n').replace(/, (?=\w+=)/, '\n'));
}

/** What is known of the program as a whole, without the fields that are read elsewhere. */
function table(sides: readonly Side[], without: readonly string[]): HTMLElement {
  const names = [...(sides[0]?.fields.keys() ?? [])].filter(
    (name) => !without.includes(name) && sides.some((s) => s.fields.get(name)),
  );
  const rows = names.map((name) => {
    const texts = sides.map((s) => s.fields.get(name) ?? '');
    const cells = texts.map((t, i) => h('td', { className: i > 0 && t !== texts[0] ? 'other' : '' }, t));
    return h('tr', {}, h('th', { aria: { scope: 'row' } }, name), ...cells);
  });
  const head = sides.map((s) => h('th', { aria: { scope: 'col' } }, s.name));
  return h('table', { className: 'figures' }, h('thead', {}, h('tr', {}, h('th'), ...head)), h('tbody', {}, ...rows));
}

function command(text: string | null): HTMLElement {
  if (text === null)
    return absent(
      'No command constructs this program: the sweep fixed or padded it, or ran it in a sequence that is no single suite.',
    );
  return h('pre', { className: 'command', tabIndex: 0, title: 'constructs the programs of this operator' }, text);
}
