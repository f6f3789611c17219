// SPDX-License-Identifier: Apache-2.0
// Bound by: of the weighted time of chips, the shares that each term of the prediction bounds.

import { chipCard, chipName } from '../card';
import { Chart, legendOption, tooltipOption, type Option } from '../chart';
import { termColour, termOrder, type Theme } from '../colour';
import { dimensionsOf, isBase, type Dimension } from '../data';
import { absent, choice, h, replaceControls } from '../dom';
import { percent } from '../format';
import { watchLooks } from '../looks';
import { kFrontKeys, type State } from '../state';

const kMostBars = 60;

interface Bar {
  chip: number;
  name: string;
}

export function bindingView(state: State): HTMLElement {
  const section = h('section', { id: 'binding' }, h('h2', {}, 'Bound by'));
  const r = state.report;
  if (r.chips.bound.names.length === 0) {
    section.append(absent('No chip has a predicted time for every operator, so what bounds them is unknown.'));
    return section;
  }
  const dimensions = dimensionsOf(r);
  const ways = ['the front', 'all chips, by time', ...dimensions.map((d) => d.name)];
  const look = state.look('bound_along', ways);
  const note = h('p', { className: 'note' });
  let bars: Bar[] = [];
  const chart = new Chart(
    'binding',
    (colours) => option(state, bars, look.name(), colours),
    (chip) => state.set({ chip }),
  );
  const redraw = () => {
    const along = look.at();
    const all = barsOf(state, along, dimensions);
    replaceControls(
      controls,
      choice('along', ways, along, (i) => look.choose(i)),
    );
    bars = thinned(all);
    section.dataset['points'] = String(bars.length);
    chart.draw();
    note.textContent = sentence(along, ways, bars.length, all.length);
    chart.say(`${note.textContent} ${spoken(state, bars)}`);
  };
  const controls = h('div', { className: 'controls' });
  section.append(controls, chart.host, note);
  chart.attach();
  state.watch(['chip', ...kFrontKeys], redraw);
  watchLooks(state, [look], redraw);
  return section;
}

function sentence(along: number, ways: readonly string[], bars: number, all: number): string {
  const which =
    along === 0
      ? 'The chips of the front, from its left to its right'
      : along === 1
        ? 'The chips shown, the fastest first'
        : `Chips that differ from the selected one in ${ways[along] ?? ''} alone`;
  const more = bars < all ? `; ${bars} of ${all.toLocaleString('en-US')}, evenly chosen` : '';
  return `${which}${more}. A bar: the shares of the weighted predicted time by what bounds the operators.`;
}

/** As many as can be told apart, from the first to the last. */
function thinned(bars: readonly Bar[]): Bar[] {
  if (bars.length <= kMostBars) return [...bars];
  const step = (bars.length - 1) / (kMostBars - 1);
  return Array.from({ length: kMostBars }, (_, i) => bars[Math.round(i * step)] as Bar);
}

function spoken(state: State, bars: readonly Bar[]): string {
  const { names, shares } = state.report.chips.bound;
  const most = (chip: number) =>
    names.map((name, i) => ({ name, share: shares[i]?.[chip] ?? 0 })).sort((a, b) => b.share - a.share)[0];
  return bars
    .slice(0, 12)
    .map((b) => `${b.name || chipName(b.chip)}: ${most(b.chip)?.name ?? ''} ${percent(most(b.chip)?.share, 2)}`)
    .join('; ');
}

function barsOf(state: State, along: number, dimensions: readonly Dimension[]): Bar[] {
  const r = state.report;
  const times = state.times();
  const named = (chips: readonly number[]) => chips.map((chip) => ({ chip, name: String(chip) }));
  if (along === 0) return named(state.front());
  if (along === 1) {
    const timed = state.get().shown.filter((c) => typeof times[c] === 'number');
    return named(timed.sort((a, b) => (times[a] as number) - (times[b] as number)));
  }
  const across = dimensions[along - 2];
  const through = state.get().chip ?? state.get().shown[0];
  if (through === undefined || !across) return [];
  const others = dimensions.filter((d) => d !== across);
  const place = (chip: number) => across.of[chip] ?? 0;
  return r.chips.base
    .map((_, chip) => chip)
    .filter((chip) => !isBase(r, chip) && others.every((d) => d.of[chip] === d.of[through]))
    .sort((a, b) => place(a) - place(b))
    .map((chip) => ({ chip, name: across.values[place(chip)] ?? '' }));
}

function option(state: State, bars: readonly Bar[], along: string, colours: Theme): Option {
  const { names, shares } = state.report.chips.bound;
  const order = names.map((_, i) => i).sort((a, b) => termOrder(names[a] ?? '') - termOrder(names[b] ?? ''));
  const used = order.filter((i) => bars.some((b) => (shares[i]?.[b.chip] ?? 0) > 0));
  const chosen = state.get().chip;
  const sharesOf = (chip: number) =>
    used.map((i): [string, string] => [`bound by ${names[i] ?? ''}`, percent(shares[i]?.[chip] ?? 0)]);
  return {
    grid: { left: 60, right: 18, top: 34, bottom: 52 },
    legend: legendOption(colours),
    tooltip: tooltipOption<{ chip: number }>(colours, ({ chip }) => chipCard(state, chip, sharesOf(chip))),
    xAxis: {
      type: 'category',
      data: bars.map((b) => b.name),
      name: along === 'the front' || along === 'all chips, by time' ? 'chip' : along,
      nameLocation: 'middle',
      nameGap: 30,
      nameTextStyle: { color: colours.faint },
      axisLabel: { color: colours.ink, hideOverlap: true },
      axisLine: { lineStyle: { color: colours.faint } },
      axisTick: { show: false },
    },
    yAxis: {
      type: 'value',
      min: 0,
      max: 1,
      axisLabel: { color: colours.ink, formatter: (v: number) => percent(v) },
      splitLine: { lineStyle: { color: colours.rule } },
    },
    series: used.map((i) => ({
      name: names[i],
      type: 'bar',
      stack: 'share',
      barMaxWidth: 40,
      color: termColour(names[i] ?? ''),
      data: bars.map((b) => ({
        value: shares[i]?.[b.chip] ?? 0,
        chip: b.chip,
        itemStyle:
          b.chip === chosen
            ? { borderColor: colours.mark, borderWidth: 2 }
            : { borderColor: colours.paper, borderWidth: 0.5 },
      })),
    })),
  };
}
