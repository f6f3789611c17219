// SPDX-License-Identifier: Apache-2.0
// The sentence at the top, and beside each other the numbers that it weighs: of the base, the best chip, the selected one.

import { chipName } from '../card';
import { columnsOf } from '../columns';
import { h } from '../dom';
import { withConditions } from '../filter';
import { percent, quantity } from '../format';
import { headlineOf } from '../headline';
import { budgetsOf, feasible, type Measure } from '../measures';
import type { State } from '../state';

export function headlineView(state: State): HTMLElement {
  const sentence = h('p', { className: 'said', aria: { live: 'polite' } });
  const note = h('p', { className: 'note' });
  const table = h('div', { className: 'scroll' });
  const section = h(
    'section',
    { id: 'headline', aria: { label: 'What the sweep found' } },
    h('div', {}, sentence, note),
    table,
  );
  state.watch(['chip', 'shown', 'source', 'operator', 'network'], () => {
    const said = headlineOf(state);
    sentence.replaceChildren(
      ...said.words.map(({ text: words, strong, chip }) => {
        const text = unbroken(words);
        if (chip === undefined) return strong ? h('strong', {}, text) : document.createTextNode(text);
        const button = h('button', { type: 'button', className: 'link' }, text);
        button.addEventListener('click', () => state.set({ chip }));
        return button;
      }),
    );
    note.replaceChildren(said.note, ...onlyKept(state));
    note.hidden = said.note === '';
    table.replaceChildren(...tableOf(state, said.chip));
  });
  return section;
}

/** Writes into the filter that chips have to keep to the budget, where some of those shown do not. */
function onlyKept(state: State): HTMLElement[] {
  const column = columnsOf(state).find((c) => c.names.includes('violation'));
  if (!column || state.get().shown.every((chip) => feasible(state.report, chip))) return [];
  const button = h('button', { type: 'button', className: 'link' }, 'Show those within it alone');
  button.addEventListener('click', () => {
    state.filter(withConditions(state.get().line, column, [`${column.names[0]} <= 0`]));
  });
  return [h('span', {}, ' ', button)];
}

/** Numbers stay with their units and signs. */
const unbroken = (text: string): string =>
  text.replace(/ ([≤≥]) /g, '\u00a0$1\u00a0').replace(/(\d) (?=[^\d\s,;:]{1,3}\b|%)/g, '$1\u00a0');

/** Without objectives the sentence says all there is. */
function tableOf(state: State, best: number | null): HTMLElement[] {
  const r = state.report;
  const objectives = state.measures.filter((m) => m.objective);
  if (objectives.length < 2) return [];
  const selected = state.get().chip;
  const base = best !== null ? (r.chips.base[best] ?? null) : null;
  const of = (chip: number, what: string): [number, string] => [chip, `${what}, ${chipName(chip)}`];
  const sides = [
    ...(base !== null ? [of(base, 'base')] : []),
    ...(best !== null && best !== base ? [of(best, 'best')] : []),
    ...(selected !== null && selected !== best && selected !== base ? [of(selected, 'selected')] : []),
  ];
  const budgeted = objectives.some((m) => budgetsOf(r, m).length > 0);
  const head = ['', ...sides.map(([, name]) => name), ...(budgeted ? ['budget'] : [])];
  const rows = objectives.map((m) => row(state, m, sides, base, budgeted));
  return [
    h(
      'table',
      { className: 'figures' },
      h('thead', {}, h('tr', {}, ...head.map((text) => h('th', { aria: { scope: 'col' } }, text)))),
      h('tbody', {}, ...rows),
    ),
  ];
}

function row(
  state: State,
  m: Measure,
  sides: readonly [number, string][],
  base: number | null,
  budgeted: boolean,
): HTMLElement {
  const values = state.valuesOf(m);
  const budgets = budgetsOf(state.report, m);
  const cells = sides.map(([chip]) => {
    const value = values[chip];
    const was = base === null || base === chip ? null : values[base];
    const by = typeof value === 'number' && was && value !== was ? ` (${signed(value / was - 1)})` : '';
    const beyond = typeof value === 'number' && budgets.some((b) => (b.atMost ? value > b.bound : value < b.bound));
    return h('td', { className: beyond ? 'wrong' : '' }, `${quantity(value, m.unit)}${by}`);
  });
  const bounds = budgets.map((b) => `${b.atMost ? '≤' : '≥'} ${quantity(b.bound, m.unit)}`).join(', ');
  const last = budgeted ? [h('td', {}, bounds)] : [];
  return h('tr', {}, h('th', { aria: { scope: 'row' } }, m.name), ...cells, ...last);
}

const signed = (share: number): string => `${share > 0 ? '+' : ''}${percent(share)}`;
