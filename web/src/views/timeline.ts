// SPDX-License-Identifier: Apache-2.0
// The timeline of a network on the selected chip and on its base, to one scale: its operators in their order, as wide
// as their time. An operator that occurs several times is one piece, where it occurs first.

import { chipName } from '../card';
import { termColour, termOrder } from '../colour';
import { rowOf, textOf, timesOf } from '../data';
import { absent, choice, h, replace, replaceControls, type Child } from '../dom';
import { number, percent, time } from '../format';
import { watchLooks, type Look } from '../looks';
import type { State } from '../state';
import { walkWithArrows } from '../walk';
import { programLook } from './operators';

interface Piece {
  operator: number;
  us: number; // of all its occurrences
  count: number;
  bound: string;
}

interface Track {
  name: string;
  chip: number;
  pieces: Piece[];
  us: number;
  missing: number; // operators without a time
}

export function timelineView(state: State): Child {
  const { networks } = state.report;
  if (networks.length === 0) return null;
  const names = networks.map((n) => n.name);
  const look = state.look('timeline', names);
  const program = programLook(state);
  const controls = h('div', { className: 'controls' });
  const body = h('div', { className: 'timeline', tabIndex: 0, aria: { role: 'group' } });
  const said = h('p', { className: 'hint', aria: { live: 'polite' } });
  const section = h('section', { id: 'timeline', className: 'wide' }, h('h2', {}, 'Timeline of the network'));
  section.append(controls, body, said);
  let tracks: Track[] = [];
  const chosen = () => state.get().network ?? look.at();
  const redraw = () => {
    const { chip, network } = state.get();
    tracks = chip === null ? [] : tracksOf(state, chosen(), chip);
    const choose = (i: number) => (network === null ? look.choose(i) : state.set({ network: i, operator: null }));
    replaceControls(controls, names.length > 1 && choice('network', names, chosen(), choose));
    replace(body, ...(chip === null ? [absent('Select a chip to see its timeline.')] : drawn(state, tracks, program)));
    body.setAttribute(
      'aria-label',
      `${names[chosen()] ?? ''}: ${tracks.map(trackText).join('; ')}. Arrow keys go along.`,
    );
    tell();
  };
  const tell = () => {
    for (const piece of body.querySelectorAll<HTMLElement>('[data-operator]'))
      piece.classList.toggle('selected', piece.dataset['operator'] === String(program.at()));
    said.textContent = sentence(state, tracks, program.at());
  };
  walkWithArrows(
    body,
    () => tracks.at(-1)?.pieces.map((p) => p.operator) ?? [],
    () => program.at(),
    (operator) => program.choose(operator),
  );
  state.watch(['chip', 'source', 'network'], redraw);
  watchLooks(state, [look], redraw);
  watchLooks(state, [program], tell);
  return section;
}

function drawn(state: State, tracks: readonly Track[], program: Look): Child[] {
  const most = Math.max(...tracks.map((t) => t.us), 0);
  const terms = [...new Set(tracks.flatMap((t) => t.pieces.map((p) => p.bound)))];
  terms.sort((a, b) => termOrder(a) - termOrder(b));
  const key = (term: string) =>
    h('span', { className: 'key' }, h('span', { className: 'swatch', style: { background: termColour(term) } }), term);
  return [
    h('p', { className: 'note' }, 'Bound by ', ...terms.map(key)),
    ...tracks.map((t) => trackOf(state, t, most, program)),
  ];
}

const trackText = (t: Track): string =>
  `${t.name}: ${time(t.us)}${t.missing > 0 ? `, ${t.missing} of its operators lack a time` : ''}`;

function tracksOf(state: State, network: number, chip: number): Track[] {
  const r = state.report;
  const base = r.chips.base[chip] ?? null;
  const of = (c: number, name: string): Track => {
    const operators = r.networks[network]?.operators ?? [];
    const pieces = operators.flatMap((operator): Piece[] => {
      const row = rowOf(r, c, operator);
      const us = timesOf(r.rows, state.get().source)?.[row];
      if (typeof us !== 'number') return [];
      const times = r.operators.weight[operator] ?? 1;
      return [{ operator, us: us * times, count: times, bound: textOf(r.rows.bottleneck, row) ?? '' }];
    });
    const us = pieces.reduce((sum, p) => sum + p.us, 0);
    return { name, chip: c, pieces, us, missing: operators.length - pieces.length };
  };
  const own = of(chip, base === chip ? `base, ${chipName(chip)}` : chipName(chip));
  return base === null || base === chip ? [own] : [of(base, `base, ${chipName(base)}`), own];
}

function trackOf(state: State, t: Track, most: number, program: Look): HTMLElement {
  const pieces = t.pieces.map((p) => {
    const name = state.report.operators.id[p.operator] ?? '';
    const piece = h('i', {
      title: `${name}: ${pieceText(t, p)}`,
      data: { operator: String(p.operator) },
      style: { width: `${((100 * p.us) / most).toFixed(4)}%`, background: termColour(p.bound) },
    });
    piece.addEventListener('click', () => program.choose(p.operator));
    return piece;
  });
  return h(
    'div',
    { className: 'stacked', data: { chip: String(t.chip) } },
    h('span', {}, trackText(t)),
    h('div', { className: 'stack' }, ...pieces),
  );
}

const pieceText = (t: Track, p: Piece): string =>
  `${time(p.us)}${p.count === 1 ? '' : ` of ${number(p.count)} times ${time(p.us / p.count)}`}, ` +
  `${percent(p.us / t.us)} of the network, bound by ${p.bound}`;

/** What is said of the chosen operator on each chip. */
function sentence(state: State, tracks: readonly Track[], operator: number): string {
  const said = tracks.flatMap((t) => {
    const piece = t.pieces.find((p) => p.operator === operator);
    return piece ? [`${t.name}: ${pieceText(t, piece)}`] : [];
  });
  return said.length === 0 ? '' : `${state.report.operators.id[operator] ?? ''}. ${said.join('; ')}.`;
}
