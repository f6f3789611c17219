// SPDX-License-Identifier: Apache-2.0
// The heatmap: time relative to the base over any two axes, a table that the keyboard reaches and paper shows.

import { chipCard, chipName } from '../card';
import { onThemeChange, ratioColour, theme } from '../colour';
import { dimensionsOf, isBase, type Dimension } from '../data';
import { absent, choice, h, replaceControls } from '../dom';
import { number, ratio, time } from '../format';
import { chooseAll, watchLooks, type Look } from '../looks';
import { cheapest } from '../pareto';
import type { State } from '../state';

const isPhone = (): boolean => innerWidth < 600;

/** Which axes run down and across, and what the others are fixed to: an index of a value, or null for the best. */
interface Cut {
  axes: Dimension[];
  down: number;
  across: number | null;
  fixed: (number | null)[];
}

/** What the reader chooses of it. */
interface Looks {
  down: Look;
  across: Look;
  fixed: Look[]; // of every axis
}

export function heatmapView(state: State): HTMLElement {
  const section = h('section', { id: 'heatmap' }, h('h2', {}, 'Heat map'));
  const axes = dimensionsOf(state.report);
  if (axes.length === 0) {
    section.append(absent('The sweep varies nothing: it has no axes.'));
    return section;
  }
  const looks = looksOf(state, axes);
  const controls = h('div', { className: 'controls' });
  const table = h('div', { className: 'scroll' });
  const note = h('p', { className: 'note' });
  section.append(controls, table, note);
  const redraw = () => {
    const cut = cutOf(axes, looks);
    replaceControls(controls, ...controlsOf(state, cut, looks));
    table.replaceChildren(tableOf(state, cut));
    note.textContent = sentence(state, cut);
  };
  state.watch(['chip', 'shown', 'source', 'operator', 'network'], redraw);
  watchLooks(state, [looks.down, looks.across, ...looks.fixed], redraw);
  onThemeChange(redraw);
  return section;
}

/** The first two axes; on a phone the one with fewer values goes across. */
function looksOf(state: State, axes: Dimension[]): Looks {
  const [first, second] = [axes[0]?.values.length ?? 0, axes[1]?.values.length ?? 0];
  const turned = isPhone() && axes.length > 1 && first < second;
  const names = axes.map((a) => a.name);
  return {
    down: state.look('heat_down', names, turned ? 1 : 0),
    across: state.look('heat_across', names, turned ? 0 : Math.min(1, axes.length - 1)),
    fixed: axes.map((a) => state.look(`heat_${a.name}`, [kBest, ...a.values])),
  };
}

const kBest = 'best';

/** An address that names one axis twice has the first other one across. */
function cutOf(axes: Dimension[], looks: Looks): Cut {
  const [down, wanted] = [looks.down.at(), looks.across.at()];
  const across = axes.length < 2 ? null : wanted !== down ? wanted : down === 0 ? 1 : 0;
  return { axes, down, across, fixed: looks.fixed.map((look) => (look.at() === 0 ? null : look.at() - 1)) };
}

function sentence(state: State, cut: Cut): string {
  const others = cut.axes.length - (cut.across === null ? 1 : 2);
  const free = cut.fixed.filter((f, i) => f === null && i !== cut.down && i !== cut.across).length;
  const budget = state.report.chips.violation ? ', within the budget or not' : '';
  const best = free > 0 ? ` Where another axis is not fixed, a cell is the fastest chip over its values${budget}.` : '';
  const one = cut.across === null ? ' The sweep has one axis, so there is one column.' : '';
  return (
    `${state.timeName()}, relative to the base: below 1x is faster.` +
    one +
    (others > 0 ? best : '') +
    ' Outlined: the selected chip; b: the base.'
  );
}

function controlsOf(state: State, cut: Cut, looks: Looks): HTMLElement[] {
  const { axes, down, across } = cut;
  const names = axes.map((a) => a.name);
  const out: HTMLElement[] = [];
  if (across !== null) {
    // An axis that is chosen for the other way too changes places with it.
    const choose = (d: number, a: number) =>
      chooseAll(state, [
        [looks.down, d],
        [looks.across, a],
      ]);
    out.push(choice('down', names, down, (i) => choose(i, i === across ? down : across)));
    out.push(choice('across', names, across, (i) => choose(i === down ? across : down, i)));
  }
  axes.forEach((axis, i) => {
    const look = looks.fixed[i];
    if (i === down || i === across || !look) return;
    out.push(choice(axis.name, look.names, look.at(), (v) => look.choose(v)));
  });
  return out;
}

/** Of every pair of values the fastest shown chip, row by row; null where there is none. */
export function cells(state: State, cut: Cut): (number | null)[][] {
  const { axes } = cut;
  const width = cut.across === null ? 1 : (axes[cut.across]?.values.length ?? 0);
  const grid: number[][][] = (axes[cut.down]?.values ?? []).map(() => Array.from({ length: width }, () => []));
  for (const chip of state.get().shown) {
    if (cut.fixed.some((f, i) => i !== cut.down && i !== cut.across && f !== null && axes[i]?.of[chip] !== f)) continue;
    const column = cut.across === null ? 0 : (axes[cut.across]?.of[chip] ?? -1);
    grid[axes[cut.down]?.of[chip] ?? -1]?.[column]?.push(chip);
  }
  return grid.map((row) => row.map((among) => cheapest(state.times(), among)));
}

/** By how many times the cells are faster or slower at most, so that colours use their whole range. */
function strongest(state: State, grid: (number | null)[][]): number {
  let most = 1.05;
  for (const row of grid)
    for (const chip of row) {
      const r = chip === null ? null : state.ratios()[chip];
      if (r) most = Math.max(most, r, 1 / r);
    }
  return most;
}

function tableOf(state: State, cut: Cut): HTMLElement {
  const { axes } = cut;
  const grid = cells(state, cut);
  if (!grid.some((row) => row.some((chip) => chip !== null))) return absent('None of the chips shown has a time here.');
  const most = strongest(state, grid);
  const across = cut.across === null ? [''] : (axes[cut.across]?.values ?? []);
  const acrossName = cut.across === null ? '' : (axes[cut.across]?.name ?? '');
  const downName = axes[cut.down]?.name ?? '';
  const heads = across.map((v) => h('th', { aria: { scope: 'col' } }, v));
  // On a phone the first column is as narrow as its numbers.
  const named = isPhone()
    ? [h('th', { colSpan: across.length + 1, className: 'axis' }, `${downName} ↓ ${acrossName && `${acrossName} →`}`)]
    : [h('th'), h('th', { colSpan: across.length, className: 'axis' }, acrossName)];
  const corner = h('th', { className: 'axis' }, isPhone() ? '' : downName);
  const head = h('thead', {}, h('tr', {}, ...named), h('tr', {}, corner, ...heads));
  const body = grid.map((row, i) =>
    h(
      'tr',
      {},
      h('th', { aria: { scope: 'row' } }, axes[cut.down]?.values[i] ?? ''),
      ...row.map((chip) => cell(state, chip, most)),
    ),
  );
  return h('table', { className: 'heat' }, head, h('tbody', {}, ...body));
}

function cell(state: State, chip: number | null, most: number): HTMLElement {
  if (chip === null) return h('td', { className: 'none', title: 'no chip with a time' });
  const r = state.ratios()[chip];
  const text = r ? (isPhone() ? number(r, 2) : ratio(r).slice(0, -1)) : time(state.times()[chip]);
  const colour = r ? ratioColour(r, most, theme().dark) : null;
  const button = h(
    'button',
    {
      type: 'button',
      data: { chip: String(chip) },
      className: chip === state.get().chip ? 'selected' : '',
      aria: { label: `${chipName(chip)}: ${text}`, pressed: String(chip === state.get().chip) },
      style: colour ? { background: colour.fill, color: colour.ink } : {},
    },
    text,
    isBase(state.report, chip) && h('sup', {}, 'b'),
  );
  button.addEventListener('click', () => state.set({ chip }));
  const td = h('td', {}, button);
  td.addEventListener('mouseenter', () => {
    if (!td.querySelector('.card')) td.append(chipCard(state, chip));
  });
  td.addEventListener('mouseleave', () => td.querySelector('.card')?.remove());
  return td;
}
