// SPDX-License-Identifier: Apache-2.0
// How the front is drawn: filled points keep to the budgets, hollow ones do not; dashed lines are the budgets, whiskers
// the intervals of times.

import { bandOf } from '../band';
import { chipCard } from '../card';
import {
  axisOption,
  gridOption,
  kMany,
  legendOption,
  pointsOption,
  tooltipOption,
  type Mark,
  type Option,
} from '../chart';
import type { Theme } from '../colour';
import { isBase, type Column } from '../data';
import { budgetsOf, feasible, type Budget } from '../measures';
import type { State } from '../state';
import { scaleOf, type Scale } from '../ticks';

/** More than these nobody tells apart. */
export const kWhiskers = 80;

interface Point {
  value: [number, number];
  chip: number;
}

/** From x, y to x, y. */
type Whisker = [number, number, number, number];

/** Of the chips those that have both numbers. */
export function pointsOf(state: State, chips: readonly number[], source?: 'simulated'): Point[] {
  const of = (column: Column | null): Column => column ?? (source ? state.timesBy(source) : state.times());
  const [x, y] = [of(state.x().values), of(state.y().values)];
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
  const timed = state.x().values === null || state.y().values === null;
  return state.report.multi_fidelity && source === 'predicted' && timed ? pointsOf(state, shown, 'simulated') : [];
}

export function frontOption(state: State, colours: Theme): Option {
  const r = state.report;
  const points = pointsOf(state, state.get().shown);
  const onFront = new Set(state.front());
  const front = pointsOf(state, state.front());
  const simulated = simulatedOf(state);
  const [mx, my] = [state.x(), state.y()];
  const budgets = { x: budgetsOf(r, mx), y: budgetsOf(r, my) };
  const whiskers = whiskersOf(state, points, onFront);
  const x = scaleWith([...points.map((p) => p.value[0]), ...whiskers.flatMap((w) => [w[0], w[2]])], budgets.x, mx.unit);
  const y = scaleWith(
    [...[...points, ...simulated].map((p) => p.value[1]), ...whiskers.flatMap((w) => [w[1], w[3]])],
    budgets.y,
    my.unit,
  );
  const within = points.filter((p) => !onFront.has(p.chip) && feasible(r, p.chip));
  const beyond = points.filter((p) => !feasible(r, p.chip));
  const many = points.length > kMany;
  return {
    grid: gridOption(colours),
    legend: legendOption(colours),
    tooltip: tooltipOption<Point>(colours, (p) => chipCard(state, p.chip)),
    xAxis: axisOption(x, state.nameOf(mx), mx.unit, colours),
    yAxis: axisOption(y, state.nameOf(my), my.unit, colours, true),
    series: [
      ...(beyond.length === 0
        ? []
        : [
            {
              name: 'beyond budget',
              type: 'scatter',
              ...pointsOption(points.length),
              ...(many ? { symbol: 'rect', symbolSize: 4.5 } : {}),
              itemStyle: {
                color: 'transparent',
                borderColor: colours.faint,
                opacity: many ? 0.25 : 0.6,
                borderWidth: 1,
              },
              data: beyond,
            },
          ]),
      {
        name: r.chips.violation ? 'within budget' : 'dominated',
        type: 'scatter',
        ...pointsOption(points.length),
        itemStyle: { color: colours.faint, opacity: many ? 0.25 : 0.4 },
        data: within,
      },
      {
        name: 'front',
        type: 'line',
        step: state.get().xMore ? 'start' : 'end',
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
        data: points.filter((p) => isBase(r, p.chip)),
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
      ...(whiskers.length === 0 ? [] : [whiskerSeries(whiskers, colours)]),
      ...budgets.x.map((b) => budgetSeries(b, [b.bound, y.min], [b.bound, y.max], x, colours, true)),
      ...budgets.y.map((b) => budgetSeries(b, [x.min, b.bound], [x.max, b.bound], y, colours, false)),
    ],
  };
}

/** A budget is in the drawing unless that would leave the chips less than half of it. */
function scaleWith(values: readonly number[], budgets: readonly Budget[], unit: string): Scale {
  const own = scaleOf(values, unit);
  const room = own.max - own.min;
  const near = budgets.map((b) => b.bound).filter((b) => b > own.min - room / 2 && b < own.max + room);
  return near.length === 0 ? own : scaleOf([...values, ...near], unit);
}

function budgetSeries(
  budget: Budget,
  from: [number, number],
  to: [number, number],
  scale: Scale,
  colours: Theme,
  upright: boolean,
): Option {
  const inside = budget.bound >= scale.min && budget.bound <= scale.max;
  const late = (budget.bound - scale.min) / (scale.max - scale.min) > 0.6;
  const label = {
    show: true,
    formatter: budget.text,
    color: colours.mark,
    position: upright ? (late ? 'left' : 'right') : 'insideBottomRight',
    ...(upright ? { offset: [0, 8] } : { align: 'right', verticalAlign: 'bottom', offset: [0, -3] }),
  };
  return {
    name: 'budget',
    type: 'line',
    symbol: 'circle',
    symbolSize: 0.1,
    silent: true,
    clip: true,
    z: 1,
    lineStyle: { color: colours.mark, type: 'dashed', width: 1.3 },
    itemStyle: { color: colours.mark },
    data: inside ? [{ value: from }, { value: to, label }] : [],
  };
}

/** The ends of the intervals of times: of chips of the front, of bases and of the selected chip. */
function whiskersOf(state: State, points: readonly Point[], front: ReadonlySet<number>): Whisker[] {
  const timed = [state.x(), state.y()].findIndex((m) => m.values === null);
  if (timed < 0) return [];
  const { chip } = state.get();
  const wanted = points.filter(
    (p) => p.chip === chip || isBase(state.report, p.chip) || (front.size <= kWhiskers && front.has(p.chip)),
  );
  return wanted.flatMap((p): Whisker[] => {
    const band = bandOf(state, p.chip);
    if (!band) return [];
    const [x, y] = p.value;
    return [timed === 0 ? [band.low, y, band.high, y] : [x, band.low, x, band.high]];
  });
}

type Api = { value: (i: number) => number; coord: (at: [number, number]) => [number, number] };

function whiskerSeries(whiskers: Whisker[], colours: Theme): Option {
  return {
    name: 'interval',
    type: 'custom',
    silent: true,
    clip: true,
    z: 1,
    encode: { x: -1, y: -1 },
    color: colours.faint,
    data: whiskers,
    renderItem: (_: unknown, api: Api) => {
      const [from, to] = [api.coord([api.value(0), api.value(1)]), api.coord([api.value(2), api.value(3)])];
      const shape = { x1: from[0], y1: from[1], x2: to[0], y2: to[1] };
      return { type: 'line', shape, style: { stroke: colours.ink, lineWidth: 1, opacity: 0.55 } };
    },
  };
}

/** The selected chip, if it is shown. */
export function marksOf(state: State, label: (chip: number) => string): Mark[] {
  const { chip, shown } = state.get();
  const [selected] = chip === null || !shown.includes(chip) ? [] : pointsOf(state, [chip]);
  return selected ? [{ at: selected.value, size: 17, label: label(selected.chip) }] : [];
}
