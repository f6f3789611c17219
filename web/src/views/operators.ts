// SPDX-License-Identifier: Apache-2.0
// The operators of the selected chip: times, what binds, and each one's best program beside that of the base, for every
// chip gets kernels of its own.

import { chipName, differences } from '../card';
import { termColour } from '../colour';
import { rowOf, shortNames, textOf, timesOf } from '../data';
import { absent, h } from '../dom';
import { number, percent, ratio, time } from '../format';
import { watchLooks, type Look } from '../looks';
import type { State } from '../state';
import { programsOf } from './programs';

export function operatorsView(state: State): HTMLElement {
  const section = h('section', { id: 'operators', className: 'wide' });
  const program = programLook(state);
  const draw = () => {
    const chosen = state.get().operator;
    const mine = state.report.networks[state.get().network ?? -1]?.operators;
    const operator = chosen ?? (mine && !mine.includes(program.at()) ? (mine[0] ?? 0) : program.at());
    section.replaceChildren(h('h2', {}, 'Operators and their programs'), ...contents(state, operator, choose));
  };
  const choose = (i: number) => {
    if (state.get().operator !== null) state.set({ operator: i });
    program.choose(i);
    section.querySelector<HTMLElement>('.beside button[aria-pressed=true]')?.focus();
  };
  state.watch(['chip', 'operator', 'network', 'source'], draw);
  watchLooks(state, [program], draw);
  return section;
}

/** The operator of which a program is shown, which drawings of kernels choose too. */
export const programLook = (state: State): Look => state.look('program', state.report.operators.id);

function contents(state: State, operator: number, choose: (i: number) => void): HTMLElement[] {
  const chip = state.get().chip;
  if (chip === null) return [absent('Select a chip in any drawing or table to see its operators here.')];
  const r = state.report;
  const names = shortNames(r.axes.map((a) => a.name));
  const heading = h('p', { className: 'note' }, `${chipName(chip)}: ${differences(r, chip, names)}`);
  return [
    heading,
    ...(r.networks.length > 0 ? [h('div', { className: 'scroll' }, networksTable(state, chip))] : []),
    h(
      'div',
      { className: 'beside' },
      h('div', { className: 'scroll' }, table(state, chip, operator, choose)),
      programsOf(state, chip, operator),
    ),
  ];
}

/** The networks among the workloads; one that is chosen is what every drawing shows, and whose operators are listed. */
function networksTable(state: State, chip: number): HTMLElement {
  const { networks, chips } = state.report;
  const sources = chips.totals.map((t) => t.source);
  const head = ['network', 'operators', ...sources.map((s) => `${s}, weighted`), 'share', 'of base'];
  const rows = networks.map((n, i) => {
    const chosen = state.get().network === i;
    const pressed = { aria: { pressed: String(chosen) } };
    const button = h('button', { type: 'button', className: 'link', ...pressed }, n.name);
    button.addEventListener('click', () => state.set({ network: chosen ? null : i, operator: null }));
    const of = (s: string | undefined) => n.totals.find((t) => t.source === s);
    const [mine, all] = [of(sources[0])?.total_us[chip], chips.totals[0]?.total_us[chip]];
    const cells = [
      h('td', {}, button),
      h('td', { className: 'right' }, number(n.operators.length)),
      ...sources.map((s) => h('td', { className: 'right' }, known(of(s)?.total_us[chip]))),
      h('td', { className: 'right' }, mine && all ? percent(mine / all) : ''),
      h('td', { className: 'right' }, ratio(of(sources[0])?.ratio[chip])),
    ];
    return h('tr', { className: chosen ? 'selected' : '', data: { network: String(i) } }, ...cells);
  });
  return h(
    'table',
    { className: 'list networks' },
    h('thead', {}, h('tr', {}, ...head.map((name) => h('th', { aria: { scope: 'col' } }, name)))),
    h('tbody', {}, ...rows),
  );
}

function table(state: State, chip: number, chosen: number, choose: (i: number) => void): HTMLElement {
  const { rows, operators } = state.report;
  const sources = (['predicted', 'simulated', 'measured'] as const).filter((s) => s === 'predicted' || rows[`${s}_us`]);
  const banded = rows.band.low_ratio.length > 0; // error bands are of measured chips alone
  const head = [
    'operator',
    'kind',
    'weight',
    ...sources,
    'share',
    ...(banded ? ['expected'] : []),
    'of base',
    'bound by',
  ];
  const network = state.report.networks[state.get().network ?? -1];
  const listed = network?.operators ?? operators.id.map((_, i) => i);
  const body = listed.map((i) => {
    const id = operators.id[i] ?? '';
    const row = rowOf(state.report, chip, i);
    const error = textOf(rows.error, row);
    const button = h('button', { type: 'button', className: 'link', aria: { pressed: String(i === chosen) } }, id);
    button.addEventListener('click', () => choose(i));
    const bottleneck = textOf(rows.bottleneck, row);
    const cells = [
      h('td', { title: operators.about[i] ?? '' }, button),
      h('td', {}, operators.kind[i] ?? ''),
      h('td', { className: 'right' }, number(operators.weight[i] ?? 1)),
      ...sources.map((s) => h('td', { className: 'right' }, known(rows[`${s}_us`]?.[row]))),
      h('td', { className: 'right' }, percent(shareOf(state, chip, i))),
      ...(banded ? [h('td', { className: 'right' }, expected(state, row))] : []),
      h('td', { className: 'right' }, ratio(rows.ratio.predicted[row])),
      error ? h('td', { className: 'wrong' }, error) : h('td', {}, bottleneck && swatch(bottleneck), bottleneck ?? ''),
    ];
    return h('tr', { className: i === chosen ? 'selected' : '' }, ...cells);
  });
  return h(
    'table',
    { className: 'list' },
    h('thead', {}, h('tr', {}, ...head.map((name) => h('th', { aria: { scope: 'col' } }, name)))),
    h('tbody', {}, ...body),
  );
}

/** What the operator takes of the chip's weighted total, or the chosen network's, by the times that are looked at. */
function shareOf(state: State, chip: number, operator: number): number | null {
  const r = state.report;
  const source = state.get().source;
  const totals = r.networks[state.get().network ?? -1]?.totals ?? r.chips.totals;
  const total = totals.find((t) => t.source === source)?.total_us[chip];
  const us = timesOf(r.rows, source)?.[rowOf(r, chip, operator)];
  if (!total || us === null || us === undefined) return null;
  return ((r.operators.weight[operator] ?? 1) * us) / total;
}

const known = (us: number | null | undefined): string => (us === null || us === undefined ? '' : time(us));

const swatch = (term: string): HTMLElement =>
  h('span', { className: 'swatch', style: { background: termColour(term) } });

function expected(state: State, row: number): string {
  const { band, predicted_us } = state.report.rows;
  const code = band.codes[row];
  const us = predicted_us[row];
  if (code === null || code === undefined || us === null || us === undefined) return '';
  return `${time(us * (band.low_ratio[code] ?? NaN))} to ${time(us * (band.high_ratio[code] ?? NaN))}`;
}
