// SPDX-License-Identifier: Apache-2.0
// The Pareto front: time against something that an architect pays for.

import { chipCard, chipName, differences } from '../card';
import {
  axisOption,
  Chart,
  kGrid,
  kMany,
  legendOption,
  pointsOption,
  tooltipOption,
  type Mark,
  type Option,
} from '../chart';
import type { Theme } from '../colour';
import { isBase, shortNames, type Column } from '../data';
import { absent, choice, h } from '../dom';
import { count } from '../format';
import type { State } from '../state';
import { scaleOf } from '../ticks';

interface Point {
  value: [number, number];
  chip: number;
}

export function frontView(state: State): HTMLElement {
  const section = h('section', { id: 'front' }, h('h2', {}, 'Time against cost'));
  if (state.costs.length === 0) {
    section.append(absent('No number of the chips varies in this sweep, so there is nothing to weigh time against.'));
    return section;
  }
  const note = h('p', { className: 'note' });
  const names = shortNames(state.report.axes.map((a) => a.name));
  const chart = new Chart(
    'front',
    (colours) => option(state, colours),
    (chip) => state.set({ chip }),
    () => marksOf(state, names),
  );
  section.append(controls(state), chart.host, note);
  chart.attach();
  walkWithArrows(chart.host, state);
  state.watch(['chip'], () => chart.mark());
  state.watch(['shown', 'source', 'operator', 'network', 'quantity', 'moreCosts'], () => {
    chart.draw();
    const front = state.front();
    const points = known(state, state.get().shown).length;
    section.dataset['points'] = String(points);
    section.dataset['front'] = front.join(' ');
    note.textContent = sentence(state, front.length, points);
    chart.say(
      `${state.timeName()} over ${state.cost()?.name ?? ''}: ${note.textContent} Arrow keys walk along the front.`,
    );
  });
  return section;
}

function controls(state: State): HTMLElement {
  const names = state.costs.map((c) => c.name);
  const choose = choice('against', names, state.get().quantity, (quantity) => state.set({ quantity }));
  const more = choice('what costs is', ['more of it', 'less of it'], 0, (i) => state.set({ moreCosts: i === 0 }));
  return h('div', { className: 'controls' }, choose, more);
}

function sentence(state: State, front: number, points: number): string {
  const unknown = state.get().shown.length - points;
  const less = state.get().moreCosts ? 'less' : 'more';
  return (
    `${count(front, 'chip')} of ${points.toLocaleString('en-US')} on the front: no other one is faster with ${less} or ` +
    `as much.${unknown > 0 ? ` ${count(unknown, 'chip')} without a time or a cost left out.` : ''}`
  );
}

function known(state: State, chips: readonly number[], y: Column = state.times()): Point[] {
  const x = state.cost()?.values ?? [];
  const points: Point[] = [];
  for (const chip of chips) {
    const [a, b] = [x[chip], y[chip]];
    if (a !== null && a !== undefined && b !== null && b !== undefined) points.push({ value: [a, b], chip });
  }
  return points;
}

/** Of a multi-fidelity sweep, simulated times next to the predicted ones that are drawn. */
function simulatedOf(state: State): Point[] {
  const { source, shown } = state.get();
  return state.report.multi_fidelity && source === 'predicted' ? known(state, shown, state.timesBy('simulated')) : [];
}

/** Left and right go from one chip of the front to the next. */
function walkWithArrows(host: HTMLElement, state: State): void {
  host.addEventListener('keydown', (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const front = state.front();
    const at = front.indexOf(state.get().chip ?? -1);
    const next = front[at < 0 ? 0 : Math.min(front.length - 1, Math.max(0, at + step))];
    if (next !== undefined) state.set({ chip: next });
  });
}

function option(state: State, colours: Theme): Option {
  const cost = state.cost();
  if (!cost) return {};
  const points = known(state, state.get().shown);
  const onFront = new Set(state.front());
  const front = known(state, state.front());
  const bases = points.filter((p) => isBase(state.report, p.chip));
  const simulated = simulatedOf(state);
  const x = scaleOf(
    points.map((p) => p.value[0]),
    cost.unit,
  );
  const y = scaleOf(
    [...points, ...simulated].map((p) => p.value[1]),
    'us',
  );
  const many = points.length > kMany;
  return {
    grid: { ...kGrid, top: 34 },
    legend: legendOption(colours),
    tooltip: tooltipOption<Point>(colours, (p) => chipCard(state, p.chip)),
    xAxis: axisOption(x, cost.name, cost.unit, colours),
    yAxis: axisOption(y, state.timeName(), 'us', colours, true),
    series: [
      {
        name: 'dominated',
        type: 'scatter',
        ...pointsOption(points.length),
        itemStyle: { color: colours.faint, opacity: many ? 0.25 : 0.4 },
        data: points.filter((p) => !onFront.has(p.chip)),
      },
      {
        name: 'front',
        type: 'line',
        step: 'end',
        symbol: 'circle',
        symbolSize: front.length > 60 ? 4 : 8,
        lineStyle: { width: 1.2, color: colours.accent },
        itemStyle: { color: colours.accent },
        data: front,
      },
      {
        name: 'base',
        type: 'scatter',
        symbol: 'diamond',
        symbolSize: 15,
        z: 4,
        itemStyle: { color: 'transparent', borderColor: colours.ink, borderWidth: 1.8 },
        data: bases,
      },
      ...(simulated.length === 0
        ? []
        : [
            {
              name: 'simulated',
              type: 'scatter',
              symbol: 'circle',
              symbolSize: 11,
              z: 3,
              itemStyle: { color: 'transparent', borderColor: colours.accent, borderWidth: 1.4 },
              data: simulated,
            },
          ]),
    ],
  };
}

/** The selected chip, if it is shown. */
function marksOf(state: State, names: readonly string[]): Mark[] {
  const { chip, shown } = state.get();
  const [selected] = chip === null || !shown.includes(chip) ? [] : known(state, [chip]);
  if (!selected) return [];
  const what = differences(state.report, selected.chip, names);
  return [
    {
      at: selected.value,
      size: 17,
      label: what.length > 44 ? chipName(selected.chip) : `${chipName(selected.chip)}: ${what}`,
    },
  ];
}
