// SPDX-License-Identifier: Apache-2.0
// Where the time goes: a bar by kind of operator and one by the term that binds. A part that is clicked filters.

import { seriesColour, termColour } from '../colour';
import { absent, h } from '../dom';
import { count, percent, time } from '../format';
import { sharesBy, type Group, type Share } from './data';
import type { NetworkState } from './state';

const kMostParts = 10;

export function barsView(state: NetworkState): HTMLElement {
  const section = h('section', { id: 'kinds' });
  let asked = '';
  const ask = (line: string) => {
    asked = asked === line ? '' : line;
    state.filter(asked);
  };
  state.watch(['source'], () => {
    const { groups } = state.report.network;
    if (groups.every((g) => state.timeOfGroup(g) === undefined)) {
      section.replaceChildren(h('h2', {}, 'Where the time goes'), absent('No group has a time.'));
      return;
    }
    const bar = (column: string, of: (g: Group) => string, colour: (name: string, i: number) => string) =>
      barOf(folded(sharesBy(groups, of, (g) => state.timeOfGroup(g))), column, colour, ask);
    section.replaceChildren(
      h('h2', {}, `Where the ${state.get().source} time goes`),
      h('h3', {}, 'by kind of the node that computes most'),
      bar(
        'kind',
        (g) => g.kind,
        (_, i) => seriesColour(i),
      ),
      h('h3', {}, 'by the term that binds, by the model'),
      bar('bound by', (g) => g.bottleneck ?? 'unknown', termColour),
    );
  });
  return section;
}

/** As many as colours tell apart; the smallest ones are one. */
export function folded(shares: readonly Share[], most = kMostParts): (Share & { rest: boolean })[] {
  const named = shares.map((s) => ({ ...s, rest: false }));
  if (named.length <= most) return named;
  const rest = named.slice(most - 1);
  const sum = (of: (s: Share) => number) => rest.reduce((n, s) => n + of(s), 0);
  const name = `${rest.length} others`;
  const one = { name, us: sum((s) => s.us), ratio: sum((s) => s.ratio), groups: sum((s) => s.groups), rest: true };
  return [...named.slice(0, most - 1), one];
}

function barOf(
  shares: readonly (Share & { rest: boolean })[],
  column: string,
  colour: (name: string, i: number) => string,
  ask: (line: string) => void,
): HTMLElement {
  const paint = (s: Share & { rest: boolean }, i: number) => (s.rest ? 'var(--rule)' : colour(s.name, i));
  const said = (s: Share) => `${s.name}: ${percent(s.ratio)}, ${time(s.us)}, ${count(s.groups, 'group')}`;
  const parts = shares.map((s, i) =>
    h('i', { title: said(s), style: { width: `${100 * s.ratio}%`, background: paint(s, i) } }),
  );
  const keys = shares.map((s, i) => {
    const swatch = h('span', { className: 'swatch', style: { background: paint(s, i) } });
    const text = [s.name, h('small', {}, ` ${percent(s.ratio)} · ${time(s.us)}`)];
    if (s.rest) return h('li', { title: said(s) }, swatch, ...text);
    const button = h('button', { type: 'button', className: 'link', title: said(s) }, swatch, ...text);
    button.addEventListener('click', () => ask(`${column} = ${s.name}`));
    return h('li', {}, button);
  });
  shares.forEach((s, i) => {
    if (!s.rest) parts[i]?.addEventListener('click', () => ask(`${column} = ${s.name}`));
  });
  return h(
    'div',
    { className: 'shares', data: { by: column } },
    h('div', { className: 'stack tall', aria: { hidden: 'true' } }, ...parts),
    h('ul', {}, ...keys),
  );
}
