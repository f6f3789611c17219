// SPDX-License-Identifier: Apache-2.0
// What an objective depends on: a bar of each axis' share of its variance, and a tornado of what a step along it does.

import type { Sensitivity } from '../data';
import { shortNames } from '../data';
import { absent, choice, h, replaceControls, type Child } from '../dom';
import { count, number, percent, quantity } from '../format';
import { watchLooks } from '../looks';
import { interactionOf, swingsOf, type Swing } from '../sensitivity';
import type { State } from '../state';

export function sensitivityView(state: State): Child {
  const all = state.report.sensitivities ?? [];
  if (all.length === 0) return null;
  const names = all.map((s) => s.objective);
  const look = state.look('sensitivity', names);
  const controls = h('div', { className: 'controls' });
  const body = h('div', {});
  const section = h('section', { id: 'sensitivity' }, h('h2', {}, 'What matters'), controls, body);
  const redraw = () => {
    replaceControls(controls, names.length > 1 && choice('objective', names, look.at(), (i) => look.choose(i)));
    body.replaceChildren(...contents(state, all[look.at()] as Sensitivity));
  };
  redraw();
  watchLooks(state, [look], redraw);
  return section;
}

function contents(state: State, s: Sensitivity): HTMLElement[] {
  const short = shortNames(s.axes.map((a) => a.axis));
  const nameOf = (axis: string) => short[s.axes.findIndex((a) => a.axis === axis)] ?? axis;
  const lost = s.rows_lost > 0 ? ` ${count(s.rows_lost, 'row')} without a value are left out.` : '';
  const note =
    `${s.objective}: ${quantity(s.mean, s.unit ?? '')} in the mean of all combinations of the axes' values, standard ` +
    `deviation ${quantity(s.deviation, s.unit ?? '')}; shares of the variance (Sobol) from ${count(s.points, 'point')}: ` +
    `filled what an axis does alone, hatched what it does with others; strokes 95 % intervals.${lost}`;
  const swings = swingsOf(state.report, s);
  return [
    h('p', { className: 'note' }, note),
    h('div', { className: 'bars' }, ...s.axes.flatMap((a) => indexBar(nameOf(a.axis), a))),
    h('h3', {}, 'A step along one axis'),
    ...(swings.length === 0
      ? [absent('No axis of numbers has a value on both sides of the base.')]
      : [
          h(
            'p',
            { className: 'note' },
            `${s.objective} from the lower value to the higher one, all else as at ${s.centre}.`,
          ),
          h('div', { className: 'bars' }, ...tornado(swings, nameOf)),
        ]),
  ];
}

function indexBar(name: string, a: Sensitivity['axes'][number]): HTMLElement[] {
  const place = (share: number) => `${(100 * Math.min(1, Math.max(0, share))).toFixed(2)}%`;
  const ends = ([low, high]: [number, number]) => `${number(low, 2)} to ${number(high, 2)}`;
  const whisker = ([low, high]: [number, number], where: string) =>
    h('b', { className: where, style: { left: place(low), right: `calc(100% - ${place(high)})` } });
  const title =
    `${name}: alone ${number(a.first_order, 2)} (${ends(a.first_order_interval)}), ` +
    `with all that it does with others ${number(a.total, 2)} (${ends(a.total_interval)})`;
  return [
    h('span', { className: 'name' }, name),
    h(
      'div',
      { className: 'bar', title, data: { axis: a.axis }, aria: { role: 'img', label: title } },
      h('i', { className: 'total', style: { width: place(a.total) } }),
      h('i', { style: { width: place(Math.min(a.first_order, a.total)) } }),
      whisker(a.first_order_interval, 'low'),
      whisker(a.total_interval, 'high'),
    ),
    h(
      'span',
      { className: 'value' },
      `${percent(Math.max(0, a.first_order), 2)}, with others ${percent(interactionOf(a), 2)}`,
    ),
  ];
}

/** On a logarithmic scale, so that twice as much and half as much are bars of one length. */
function tornado(swings: readonly Swing[], nameOf: (axis: string) => string): HTMLElement[] {
  const most = Math.max(...swings.map((s) => Math.abs(Math.log1p(s.change))), 1e-9);
  return swings.flatMap((s) => {
    const length = `${((50 * Math.abs(Math.log1p(s.change))) / most).toFixed(2)}%`;
    const less = s.change < 0;
    const text = `${s.change > 0 ? '+' : ''}${percent(s.change)} from ${s.from} to ${s.to}`;
    return [
      h('span', { className: 'name' }, nameOf(s.axis)),
      h(
        'div',
        { className: 'bar swing', data: { axis: s.axis }, aria: { role: 'img', label: `${nameOf(s.axis)}: ${text}` } },
        h('i', {
          className: less ? 'less' : 'more',
          style: less ? { right: '50%', width: length } : { left: '50%', width: length },
        }),
      ),
      h('span', { className: 'value' }, text),
    ];
  });
}
