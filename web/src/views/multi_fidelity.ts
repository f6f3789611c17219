// SPDX-License-Identifier: Apache-2.0
// Of a multi-fidelity sweep: how far the simulator is from the model by the validation sample, and which chips that tells apart.

import { chipName, differences } from '../card';
import { shortNames, verdict, type MultiFidelity } from '../data';
import { h, type Child } from '../dom';
import { count, number, percent, quantity, time } from '../format';
import type { State } from '../state';

const kMostRows = 200;

export function multiFidelityView(state: State): Child {
  const e = state.report.multi_fidelity;
  if (!e) return null;
  const section = h(
    'section',
    { id: 'multi_fidelity', className: 'wide' },
    h('h2', {}, 'Simulated, and what that tells apart'),
    h('p', { className: 'note' }, chosenSentence(e)),
    h('p', { id: 'ratio' }, ratioSentence(e)),
    h('p', { id: 'claims' }, claimsSentence(e)),
  );
  const scroll = h('div', { className: 'scroll' });
  section.append(scroll);
  if (e.simulated.length > kMostRows)
    section.append(h('p', { className: 'note' }, `The first ${kMostRows} are listed.`));
  state.watch(['chip', 'shown'], () => scroll.replaceChildren(tableOf(state, e)));
  return section;
}

function chosenSentence(e: MultiFidelity): string {
  const c = e.chosen;
  return (
    `The model judged all chips, the simulator (${e.mode}) ${c.front} of the front, ${count(c.neighbour, 'neighbour')} ` +
    `that the band does not tell from it, ${c.validation} of a random validation sample (seed ${e.seed}) and ${count(c.base, 'base')}.` +
    (e.cost === null ? '' : ` The front is that of predicted time and ${e.cost}.`)
  );
}

export function ratioSentence(e: MultiFidelity): string {
  const r = e.ratio;
  if (r.n === 0) return 'No validation sample is simulated: how far the simulator is from the model is not known.';
  const said =
    `Simulated over predicted time of the validation sample: ${number(r.least_ratio ?? 0)} to ${number(r.most_ratio ?? 0)}, ` +
    `median ${number(r.median_ratio ?? 0)}, n ${r.n} of ${r.population}.`;
  if (r.low_ratio === null || r.high_ratio === null) return `${said} That gives no band.`;
  return `${said} Band: ${number(r.low_ratio)} to ${number(r.high_ratio)}, which holds ${percent(r.coverage_ratio)} of other chips.`;
}

export function claimsSentence(e: MultiFidelity): string {
  if (e.no_claims !== null) return `No chip is said to be faster than another: ${e.no_claims}.`;
  const beyond = e.differences.filter((d) => d.faster !== null).length;
  const { points, slower_beyond_band: slower } = e.not_simulated;
  return (
    `${beyond} of ${count(e.differences.length, 'difference')} between a base or a chip of the front and another ` +
    `simulated one lie beyond the band. Of ${count(points, 'chip')} with a predicted time alone, ${slower} are slower ` +
    'than a simulated one that costs no more.'
  );
}

function tableOf(state: State, e: MultiFidelity): HTMLElement {
  const r = state.report;
  const names = shortNames(r.axes.map((a) => a.name));
  const shown = new Set(state.get().shown);
  const rows = e.simulated.slice(0, kMostRows).filter((s) => shown.has(s.point));
  const ends = rows.flatMap((s) => [s.low_us ?? s.simulated_us, s.high_us ?? s.simulated_us]);
  const [from, to] = [Math.min(...ends), Math.max(...ends)];
  const place = (us: number) => `${to > from ? ((100 * (us - from)) / (to - from)).toFixed(2) : '0'}%`;
  const selected = state.get().chip;
  const against = selected === null ? 'against the selected chip' : `against ${chipName(selected)}`;
  const head = ['chip', 'differs in', 'chosen', ...(e.cost === null ? [] : ['cost']), 'predicted', 'simulated'];
  head.push('sim/pred', 'interval', against);
  const row = (s: MultiFidelity['simulated'][number]) => {
    const button = h('button', { type: 'button', className: 'link' }, chipName(s.point));
    button.addEventListener('click', () => state.set({ chip: s.point }));
    const word = selected === null || selected === s.point ? '' : verdict(e, s.point, selected);
    const numbers = [
      ...(e.cost === null ? [] : [s.cost === null ? '' : quantity(s.cost, '')]),
      time(s.predicted_us),
      time(s.simulated_us),
      number(s.simulated_us / s.predicted_us),
    ];
    return h(
      'tr',
      { className: s.point === selected ? 'selected' : '', data: { chip: String(s.point) } },
      h('td', { className: 'right' }, button),
      h('td', {}, differences(r, s.point, names)),
      h('td', {}, s.chosen),
      ...numbers.map((text) => h('td', { className: 'right' }, text)),
      h('td', {}, bar(s, place)),
      h('td', { className: word === 'faster' || word === 'slower' ? 'other' : '' }, word),
    );
  };
  return h(
    'table',
    { className: 'list' },
    h('thead', {}, h('tr', {}, ...head.map((name) => h('th', { aria: { scope: 'col' } }, name)))),
    h('tbody', {}, ...rows.map(row)),
  );
}

function bar(s: MultiFidelity['simulated'][number], place: (us: number) => string): Child {
  if (s.low_us === null || s.high_us === null) return null;
  const title = `${time(s.low_us)} to ${time(s.high_us)}`;
  const line = h('i', { style: { left: place(s.low_us), right: `calc(100% - ${place(s.high_us)})` } });
  return h('div', { className: 'interval', title }, line, h('b', { style: { left: place(s.simulated_us) } }));
}
