// SPDX-License-Identifier: Apache-2.0
// Predicted times beside simulated and measured ones: on the diagonal they agree.

import { chipCard } from '../card';
import { axisOption, Chart, gridOption, legendOption, pointsOption, tooltipOption, type Option } from '../chart';
import { seriesColour, seriesSymbol, type Theme } from '../colour';
import { timesOf, type Accuracy, type Report } from '../data';
import { absent, choice, h, replaceControls } from '../dom';
import { count, number, percent, time } from '../format';
import { watchLooks, type Look } from '../looks';
import type { State } from '../state';
import { scaleOf, type Scale } from '../ticks';

const kMostPoints = 40_000;
const kMostBars = 400;

interface Point {
  value: [number, number]; // the truth, ours
  chip: number;
  operator: number;
  band: number | null;
}

interface Shown {
  pair: number; // of report.accuracy
  kind: string | null;
  ofChip: boolean; // the selected chip alone
}

export function scatterView(state: State): HTMLElement {
  const r = state.report;
  const section = h('section', { id: 'scatter' }, h('h2', {}, 'Predicted, simulated, measured'));
  for (const source of ['simulated', 'measured'] as const)
    if (!r.accuracy.some((f) => f.truth === source || f.ours === source)) section.append(absent(missing(source)));
  if (r.accuracy.length === 0) {
    section.className = 'wide';
    return section;
  }
  const looks = looksOf(state);
  const shown = { pair: 0, kind: null as string | null, ofChip: false };
  const controls = h('div', { className: 'controls' });
  const note = h('p', { className: 'note' });
  const figures = h('div', { className: 'scroll' });
  let points: Point[] = [];
  const chart = new Chart(
    'scatter',
    (colours) => option(state, shown, points, colours),
    (chip) => state.set({ chip }),
    () =>
      shown.ofChip ? [] : points.filter((p) => p.chip === state.get().chip).map((p) => ({ at: p.value, size: 13 })),
  );
  section.append(controls, chart.host, note, figures);
  chart.attach();
  const redraw = () => {
    const kind = looks.kind.at();
    Object.assign(shown, {
      pair: looks.pair.at(),
      kind: kind === 0 ? null : looks.kind.name(),
      ofChip: looks.of.at() === 1,
    });
    const all = pointsOf(state, shown);
    points = thinned(all);
    section.dataset['points'] = String(points.length);
    chart.draw();
    replaceControls(controls, ...controlsOf(looks));
    note.textContent = sentence(state, shown, all.length, points);
    figures.replaceChildren(figuresOf(pairOf(r, shown)));
    chart.say(`${pairOf(r, shown).ours} over ${pairOf(r, shown).truth} times. ${note.textContent}`);
  };
  state.watch(['shown'], redraw);
  watchLooks(state, Object.values(looks), redraw);
  state.watch(['chip'], () => (shown.ofChip ? redraw() : chart.mark()));
  return section;
}

const missing = (source: 'simulated' | 'measured'): string =>
  source === 'simulated'
    ? 'The store holds no simulated times; a sweep with `evaluator: sim` has them.'
    : 'The store holds no measured times.';

const pairOf = (r: Report, shown: Shown): Accuracy => r.accuracy[shown.pair] as Accuracy;

/** What the reader chooses of it. */
function looksOf(state: State): { pair: Look; kind: Look; of: Look } {
  const r = state.report;
  return {
    pair: state.look(
      'scatter',
      r.accuracy.map((f) => `${f.ours} over ${f.truth}`),
    ),
    kind: state.look('scatter_kind', ['all', ...new Set(r.operators.kind)]),
    of: state.look('scatter_of', ['chips shown', 'the selected chip']),
  };
}

const controlsOf = (looks: ReturnType<typeof looksOf>): HTMLElement[] =>
  (
    [
      ['times', looks.pair],
      ['kind', looks.kind],
      ['of', looks.of],
    ] as const
  ).map(([label, look]) => choice(label, look.names, look.at(), (i) => look.choose(i)));

function pointsOf(state: State, shown: Shown): Point[] {
  const r = state.report;
  const pair = pairOf(r, shown);
  const [ours, truth] = [timesOf(r.rows, pair.ours), timesOf(r.rows, pair.truth)];
  const selected = state.get().chip;
  const chips = shown.ofChip ? (selected === null ? [] : [selected]) : state.get().shown;
  const operators = r.operators.id
    .map((_, i) => i)
    .filter((i) => shown.kind === null || r.operators.kind[i] === shown.kind);
  const points: Point[] = [];
  for (const chip of chips)
    for (const operator of operators) {
      const row = chip * r.operators.id.length + operator;
      const [y, x] = [ours?.[row], truth?.[row]];
      if (y === null || y === undefined || x === null || x === undefined) continue;
      points.push({ value: [x, y], chip, operator, band: r.rows.band.codes[row] ?? null });
    }
  return points;
}

/** Every n-th point where there are more than a drawing shows. */
function thinned(points: Point[]): Point[] {
  const every = Math.ceil(points.length / kMostPoints);
  return every <= 1 ? points : points.filter((_, i) => i % every === 0);
}

function sentence(state: State, shown: Shown, all: number, drawn: Point[]): string {
  const thin = drawn.length < all ? ` ${drawn.length.toLocaleString('en-US')} of them are drawn.` : '';
  return `${count(all, 'time')}. ${bandSentence(state, shown, drawn)}${thin}`;
}

function bandSentence(state: State, shown: Shown, drawn: Point[]): string {
  if (pairOf(state.report, shown).ours !== 'predicted') return '';
  const bands = new Set(drawn.map((p) => p.band));
  if (bands.size === 1 && bands.has(null)) return 'The chips have no error bands.';
  const about = '80 % interval of measured times of such programs';
  if (drawn.length <= kMostBars) return `Bars: ${about}.`;
  return bands.size === 1 ? `Dashed: ${about}.` : 'Error bands differ by kind: choose one kind to see its band.';
}

function option(state: State, shown: Shown, points: Point[], colours: Theme): Option {
  const r = state.report;
  const pair = pairOf(r, shown);
  const scale = scaleOf(
    points.flatMap((p) => p.value),
    'us',
  );
  const kinds = [...new Set(r.operators.kind)];
  const marks = pointsOption(points.length);
  return {
    grid: gridOption(colours),
    legend: legendOption(colours, kinds),
    tooltip: tooltipOption<Point>(colours, (p) => tooltip(state, pair, p)),
    xAxis: axisOption(scale, `${pair.truth} time`, 'us', colours),
    yAxis: axisOption(scale, `${pair.ours} time`, 'us', colours, true),
    series: [
      line(
        'equal',
        [
          [scale.min, scale.min],
          [scale.max, scale.max],
        ],
        colours.ink,
        'solid',
      ),
      ...bandsOf(r, pair, points, scale, colours),
      ...kinds.map((kind, i) => ({
        name: kind,
        type: 'scatter',
        symbol: seriesSymbol(i),
        ...marks,
        itemStyle: { color: seriesColour(i), opacity: marks.large ? 0.35 : 0.75 },
        data: points.filter((p) => r.operators.kind[p.operator] === kind),
      })),
    ],
  };
}

function line(name: string, data: number[][], color: string, type: 'solid' | 'dashed'): Option {
  return {
    name,
    type: 'line',
    data,
    symbol: 'none',
    silent: true,
    clip: true,
    lineStyle: { color, type, width: 1, opacity: 0.7 },
  };
}

/** Where the truth of a prediction is expected: a bar a point where they are few, two lines where all share a band. */
function bandsOf(r: Report, pair: Accuracy, points: Point[], scale: Scale, colours: Theme): Option[] {
  if (pair.ours !== 'predicted') return [];
  const { low_ratio, high_ratio } = r.rows.band;
  const banded = points.filter((p) => p.band !== null);
  if (points.length <= kMostBars)
    return [
      bars(
        banded.map((p) => [low_ratio[p.band as number] as number, high_ratio[p.band as number] as number, p.value[1]]),
        colours,
      ),
    ];
  const bands = new Set(points.map((p) => p.band));
  const [only] = bands;
  if (bands.size !== 1 || only === null || only === undefined) return [];
  return [low_ratio[only] as number, high_ratio[only] as number].map((ratio) => {
    const ends = [scale.min, scale.max].map((y) => [y * ratio, y]);
    return line('band', ends, colours.faint, 'dashed');
  });
}

type Api = { value: (i: number) => number; coord: (at: [number, number]) => [number, number] };

function bars(data: number[][], colours: Theme): Option {
  return {
    name: 'band',
    type: 'custom',
    silent: true,
    clip: true,
    encode: { x: -1, y: -1 },
    data,
    renderItem: (_: unknown, api: Api) => {
      const y = api.value(2);
      const [from, until] = [api.coord([y * api.value(0), y]), api.coord([y * api.value(1), y])];
      const shape = { x1: from[0], y1: from[1], x2: until[0], y2: until[1] };
      return { type: 'line', shape, style: { stroke: colours.faint, lineWidth: 1, opacity: 0.6 } };
    },
  };
}

function tooltip(state: State, pair: Accuracy, p: Point): HTMLElement {
  const { low_ratio, high_ratio } = state.report.rows.band;
  const band = p.band === null || pair.ours !== 'predicted' ? [] : [p.band];
  return chipCard(state, p.chip, [
    ['operator', state.report.operators.id[p.operator] ?? ''],
    [pair.ours, time(p.value[1])],
    ...band.map((b): [string, string] => [
      'expected',
      `${time(p.value[1] * (low_ratio[b] ?? NaN))} to ${time(p.value[1] * (high_ratio[b] ?? NaN))}`,
    ]),
    [pair.truth, time(p.value[0])],
    ['error', percent(p.value[1] / p.value[0] - 1)],
  ]);
}

function figuresOf(pair: Accuracy): HTMLElement {
  const columns: [string, (k: Accuracy['kinds'][number]) => string][] = [
    ['kind', (k) => k.kind],
    ['times', (k) => k.compared.toLocaleString('en-US')],
    ['mean |error|', (k) => percent(k.mape_ratio)],
    ['median', (k) => percent(k.median_error_ratio)],
    ['mean error', (k) => percent(k.bias_ratio)],
    ['rank', (k) => (k.spearman === null ? '' : number(k.spearman, 3))],
    ['Kendall', (k) => (k.kendall === null ? '' : number(k.kendall, 3))],
    ['in the band', (k) => percent(k.within_band_ratio)],
  ];
  return h(
    'table',
    { className: 'figures' },
    h('caption', {}, `${pair.ours} over ${pair.truth}, all chips of the sweep`),
    h('thead', {}, h('tr', {}, ...columns.map(([name]) => h('th', { aria: { scope: 'col' } }, name)))),
    h('tbody', {}, ...pair.kinds.map((k) => h('tr', {}, ...columns.map(([, text]) => h('td', {}, text(k)))))),
  );
}
