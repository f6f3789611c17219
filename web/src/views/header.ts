// SPDX-License-Identifier: Apache-2.0
// What this is: title, counts, where it comes from, the sweep's own text; and the line that stays in sight, with the
// filter, what times are looked at, and the selected chip.

import { chipName, differences } from '../card';
import { columnsOf } from '../columns';
import { shortNames } from '../data';
import { choice, h, replaceControls } from '../dom';
import { filterLine } from '../filter_line';
import { count, ratio, time } from '../format';
import type { State } from '../state';

export function headerView(state: State): HTMLElement {
  const r = state.report;
  const { chips, bases, refused, rows, done, failed } = r.counts;
  const n = (x: number) => x.toLocaleString('en-US');
  const open = rows - done - failed;
  const counts =
    `${count(chips - bases, 'chip')}, ${n(refused)} of them refused, and ${count(bases, 'base')}; ${count(r.operators.id.length, 'operator')}. Times: ` +
    `${n(done)} of ${n(rows)} done, ${n(failed)} failed${open > 0 ? `, ${n(open)} not computed yet` : ''}.`;
  const facts = h('dl', {}, ...r.provenance.flatMap(([name, text]) => [h('dt', {}, name), h('dd', {}, text)]));
  return h(
    'header',
    {},
    h('h1', {}, r.title),
    h('p', { id: 'counts' }, counts),
    h(
      'details',
      {},
      h('summary', {}, `The sweep ${r.sweep.file}, and where this comes from`),
      facts,
      h('pre', { tabIndex: 0 }, r.sweep.text),
    ),
  );
}

export function barView(state: State): HTMLElement {
  const bar = h('div', { id: 'bar' });
  bar.append(chipFilter(state), timesChoice(state), selection(state));
  return bar;
}

function chipFilter(state: State): HTMLElement {
  const columns = columnsOf(state);
  const all = state.report.chips.base.map((_, chip) => chip);
  const example = `${columns[1]?.names[0] ?? 'chip'} >= …, ratio < 0.9`;
  const line = filterLine('chip', all, columns, example, (shown, line) => state.set({ shown, line }));
  state.filter = line.write;
  return line.host;
}

function timesChoice(state: State): HTMLElement {
  const r = state.report;
  const sources = r.chips.totals.map((t) => t.source);
  const networks = r.networks.map((n) => `${n.name}, weighted`);
  const of = ['all, weighted', ...networks, ...r.operators.id];
  const choose = (i: number) => {
    const operator = i - 1 - networks.length;
    if (operator >= 0) state.set({ operator, network: null });
    else state.set({ operator: null, network: i === 0 ? null : i - 1 });
  };
  const host = h('span', { className: 'controls' });
  state.watch(['source', 'operator', 'network'], () => {
    const { source, operator, network } = state.get();
    const chosen = operator !== null ? 1 + networks.length + operator : network !== null ? 1 + network : 0;
    const setSource = (i: number) => state.set({ source: sources[i] ?? source });
    replaceControls(
      host,
      ...(sources.length > 1 ? [choice('times', sources, sources.indexOf(source), setSource)] : []),
      ...(of.length > 2 ? [choice('operators', of, chosen, choose)] : []),
    );
  });
  return host;
}

function selection(state: State): HTMLElement {
  const host = h('span', { id: 'selection', aria: { live: 'polite' } });
  const names = shortNames(state.report.axes.map((a) => a.name));
  state.watch(['chip', 'source', 'operator', 'network'], () => {
    const chip = state.get().chip;
    host.replaceChildren();
    if (chip === null) return;
    const clear = h('button', { type: 'button' }, 'clear');
    clear.addEventListener('click', () => state.set({ chip: null }));
    const us = state.times()[chip];
    const text = [
      differences(state.report, chip, names),
      typeof us === 'number' ? time(us) : '',
      ratio(state.ratios()[chip]),
    ];
    host.append(h('strong', {}, chipName(chip)), ` ${text.filter((t) => t !== '').join(' · ')} `, clear);
  });
  return host;
}
