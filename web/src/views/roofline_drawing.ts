// SPDX-License-Identifier: Apache-2.0
// How a roofline is drawn: kernels over slopes of levels and peaks of instructions, both axes logarithmic.

import { axisOption, gridOption, legendOption, tooltipOption, type Option } from '../chart';
import { termColour, termOrder, type Theme } from '../colour';
import { h } from '../dom';
import { number, percent, quantity, time } from '../format';
import type { Kernel, Roofline } from '../roofline';
import type { State } from '../state';
import { scaleOf, type Scale } from '../ticks';

interface Datum {
  value: [number, number];
  item: number;
  kernel: Kernel;
}

const kRoom = 3; // of both axes beyond what is drawn, so that they are logarithmic
const kNamedAt = 0.12; // along a slope
const kNamed = 10;
const kApart = 0.055; // of the height, between names
const kWide = 0.2; // of the width, what a name takes

export function rooflineOption(state: State, drawn: Roofline, colours: Theme): Option {
  const bandwidth = drawn.levels.find((l) => l.of === drawn.level)?.rate ?? 1;
  const top = drawn.peaks[0]?.rate ?? 1;
  const ridges = drawn.peaks.map((p) => p.rate / bandwidth);
  const x = wide([...drawn.kernels.map((k) => k.intensity), ...ridges], 'FLOP/B');
  const y = wide([...drawn.kernels.map((k) => k.rate), ...drawn.peaks.map((p) => p.rate)], 'FLOP/s');
  const terms = [...new Set(drawn.kernels.map((k) => k.bound))].sort((a, b) => termOrder(a) - termOrder(b));
  const named = namedOf(drawn.kernels, x, y, colours.narrow ? 5 : kNamed);
  return {
    grid: gridOption(colours),
    legend: legendOption(
      colours,
      terms.map((t) => `bound by ${t}`),
    ),
    tooltip: tooltipOption<Datum>(colours, (d) => card(state, drawn, d.kernel)),
    xAxis: axisOption(x, `FLOP per byte of ${drawn.level}`, 'FLOP/B', colours),
    yAxis: axisOption(y, 'FLOP/s', 'FLOP/s', colours, true),
    series: [
      ...labelled(drawn.levels, 'B/s', y, drawn.level).map((l) => slope(l, top, x, y, l.of === drawn.level, colours)),
      ...labelled(drawn.peaks, 'FLOP/s', y).map((p) => peak(p, bandwidth, x, colours)),
      ...terms.map((term) => ({
        name: `bound by ${term}`,
        type: 'scatter',
        itemStyle: { color: termColour(term), opacity: 0.85, borderColor: colours.paper, borderWidth: 0.7 },
        label: {
          show: true,
          position: 'bottom',
          distance: 3,
          color: colours.ink,
          fontSize: 11,
          formatter: ({ data }: { data: Datum }) =>
            named.has(data.item) ? shortName(state.report.operators.id[data.item] ?? '') : '',
        },
        labelLayout: { hideOverlap: true },
        z: 3,
        data: drawn.kernels
          .filter((k) => k.bound === term)
          .map((k) => ({
            value: [k.intensity, k.rate],
            item: k.operator,
            kernel: k,
            symbolSize: 8 + 16 * Math.sqrt(k.share),
          })),
      })),
    ],
  };
}

function wide(values: readonly number[], unit: string): Scale {
  const [least, most] = [Math.min(...values), Math.max(...values)];
  return scaleOf([least / kRoom, most * kRoom], unit);
}

/** Where along an axis it is, from 0 to 1. */
const placeOn = (scale: Scale, value: number): number => Math.log(value / scale.min) / Math.log(scale.max / scale.min);

/** Of the kernels with the largest shares those whose names are not written over each other. */
function namedOf(kernels: readonly Kernel[], x: Scale, y: Scale, most: number): Set<number> {
  const named: Kernel[] = [];
  for (const k of [...kernels].sort((a, b) => b.share - a.share)) {
    const near = (n: Kernel) =>
      Math.abs(placeOn(x, k.intensity) - placeOn(x, n.intensity)) < kWide &&
      Math.abs(placeOn(y, k.rate) - placeOn(y, n.rate)) < kApart;
    if (named.length < most && !named.some(near)) named.push(k);
  }
  return new Set(named.map((k) => k.operator));
}

/** Without the network's name, and its end where it is long. */
function shortName(id: string): string {
  const own = id.slice(id.indexOf(': ') < 0 ? 0 : id.indexOf(': ') + 2);
  return own.length > kLongName ? `…${own.slice(1 - kLongName)}` : own;
}
const kLongName = 22;

type Line = { of: string; rate: number; text: string | null };

/** Lines that lie close share one label: that of the chosen line, else of the highest. */
function labelled(lines: readonly { of: string; rate: number }[], unit: string, y: Scale, chosen?: string): Line[] {
  const falling = [...lines].sort((a, b) => b.rate - a.rate);
  const groups: (typeof falling)[] = [];
  for (const l of falling) {
    const last = groups.at(-1);
    const near = last?.[0] && placeOn(y, last[0].rate) - placeOn(y, l.rate) < kApart;
    if (last && near) last.push(l);
    else groups.push([l]);
  }
  return groups.flatMap((group) => {
    const bearer = group.find((l) => l.of === chosen) ?? group[0];
    const text = group.map((l) => `${l.of} ${quantity(l.rate, unit)}`).join(', ');
    return group.map((l) => ({ ...l, text: l === bearer ? text : null }));
  });
}

/** A level's bandwidth, up to the highest peak; its name beside the foot of the slope. */
function slope(level: Line, top: number, x: Scale, y: Scale, chosen: boolean, colours: Theme): Option {
  const from = Math.max(x.min, y.min / level.rate);
  const to = Math.min(x.max, top / level.rate);
  const inside = from < to;
  const named = from * (to / from) ** kNamedAt;
  const label = {
    show: level.text !== null,
    formatter: level.text ?? '',
    color: chosen ? colours.accent : colours.faint,
    fontSize: 11,
    position: 'right',
    distance: 8,
  };
  return {
    name: level.of,
    type: 'line',
    symbol: 'circle',
    symbolSize: 0.1,
    silent: true,
    clip: true,
    z: chosen ? 2 : 1,
    lineStyle: chosen
      ? { color: colours.accent, width: 2 }
      : { color: colours.faint, width: 1, type: 'dotted', opacity: 0.7 },
    itemStyle: { color: colours.accent },
    labelLayout: { hideOverlap: true },
    data: inside
      ? [from, named, to].map((at) => ({ value: [at, at * level.rate], ...(at === named ? { label } : {}) }))
      : [],
  };
}

/** A peak, from where the chosen level can feed it. */
function peak(p: Line, bandwidth: number, x: Scale, colours: Theme): Option {
  const label = {
    show: p.text !== null,
    formatter: p.text ?? '',
    color: colours.accent,
    fontSize: 11,
    position: 'top',
    align: 'right',
    distance: 3,
  };
  return {
    name: p.of,
    type: 'line',
    symbol: 'circle',
    symbolSize: 0.1,
    silent: true,
    clip: true,
    z: 2,
    lineStyle: { color: colours.accent, width: 2 },
    itemStyle: { color: colours.accent },
    data: [{ value: [p.rate / bandwidth, p.rate] }, { value: [x.max, p.rate], label }],
  };
}

function card(state: State, drawn: Roofline, k: Kernel): HTMLElement {
  const rows: [string, string][] = [
    [`${state.get().source} time`, time(k.us)],
    ['share of the time', percent(k.share)],
    ['bound by', k.bound],
    [`work of ${k.instruction}`, quantity(k.flop / 1e9, 'GFLOP')],
    [`bytes of ${drawn.level}`, quantity(k.bytes, 'B')],
    ['per byte', `${number(k.intensity, 3)} FLOP`],
    ['reached', quantity(k.rate, 'FLOP/s')],
    ['of what the two allow', percent(k.rate / k.ceiling)],
  ];
  return h(
    'div',
    { className: 'card' },
    h('strong', {}, state.report.operators.id[k.operator] ?? ''),
    h('table', {}, ...rows.map(([name, text]) => h('tr', {}, h('td', {}, name), h('td', {}, text)))),
  );
}
