// SPDX-License-Identifier: Apache-2.0
// The heatmap: time relative to the base over any two axes, a table that the keyboard reaches and paper shows.

import { chipCard, chipName } from '../card';
import { onThemeChange, ratioColour, theme } from '../colour';
import { dimensionsOf, isBase, type Dimension } from '../data';
import { absent, choice, h } from '../dom';
import { number, ratio, time } from '../format';
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

export function heatmapView(state: State): HTMLElement {
  const section = h('section', { id: 'heatmap' }, h('h2', {}, 'Heat map'));
  const axes = dimensionsOf(state.report);
  if (axes.length === 0) {
    section.append(absent('The sweep varies nothing: it has no axes.'));
    return section;
  }
  const cut = firstCut(axes);
  const controls = h('div', { className: 'controls' });
  const table = h('div', { className: 'scroll' });
  const note = h('p', { className: 'note' });
  section.append(controls, table, note);
  const redraw = () => {
    controls.replaceChildren(...controlsOf(cut, redraw));
    table.replaceChildren(tableOf(state, cut));
    note.textContent = sentence(state, cut);
  };
  state.watch(['chip', 'shown', 'source', 'operator', 'network'], redraw);
  onThemeChange(redraw);
  return section;
}

/** The first two axes; on a phone the one with fewer values goes across. */
function firstCut(axes: Dimension[]): Cut {
  const [first, second] = [axes[0]?.values.length ?? 0, axes[1]?.values.length ?? 0];
  const turned = isPhone() && axes.length > 1 && first < second;
  const [down, across] = turned ? [1, 0] : [0, 1];
  return { axes, down, across: axes.length > 1 ? across : null, fixed: axes.map(() => null) };
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

function controlsOf(cut: Cut, redraw: () => void): HTMLElement[] {
  const { axes } = cut;
  const names = axes.map((a) => a.name);
  const out: HTMLElement[] = [];
  if (cut.across !== null) {
    const across = cut.across;
    const swap = (key: 'down' | 'across', other: number) => (i: number) => {
      if (i === other) [cut.down, cut.across] = [across, cut.down];
      else cut[key] = i;
      redraw();
    };
    out.push(choice('down', names, cut.down, swap('down', across)));
    out.push(choice('across', names, across, swap('across', cut.down)));
  }
  axes.forEach((axis, i) => {
    if (i === cut.down || i === cut.across) return;
    const chosen = cut.fixed[i];
    const fix = (v: number) => {
      cut.fixed[i] = v === 0 ? null : v - 1;
      redraw();
    };
    out.push(
      choice(axis.name, ['best', ...axis.values], chosen === null || chosen === undefined ? 0 : chosen + 1, fix),
    );
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
