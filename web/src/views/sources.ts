// SPDX-License-Identifier: Apache-2.0
// Where the numbers of the selected chip come from: figures with marks and sources, ratios that calibrate the model, and
// the measured rows nearest to its predictions.

import { chipName } from '../card';
import { textOf } from '../data';
import { absent, h, replace, type Child } from '../dom';
import { count, number, percent } from '../format';
import { kMarks, marksIn, partsOf, residualsOf, sourcesOf, type Part, type SourcedFigure } from '../sources';
import type { State } from '../state';

export function sourcesView(state: State): Child {
  if ((state.report.bases ?? []).length === 0) return null;
  const section = h('section', { id: 'sources', className: 'wide' });
  state.watch(['chip', 'network'], () => {
    const { chip } = state.get();
    replace(
      section,
      h('h2', {}, 'Where the numbers come from'),
      ...(chip === null
        ? [absent('Select a chip in any drawing or table to see where its figures come from.')]
        : contents(state, chip)),
    );
  });
  return section;
}

function contents(state: State, chip: number): Child[] {
  const r = state.report;
  const base = sourcesOf(r, chip);
  if (!base) return [absent('This chip has no base whose files could say that.')];
  const name = textOf(r.chips.arch, chip) ?? '';
  if (base.figures.length === 0)
    return [absent(`The file of ${name} is not there any more.`), ...measured(state, chip)];
  const parts = partsOf(state, chip);
  const [binding, others] = [parts.filter((p) => p.share > 0), parts.filter((p) => p.share === 0)];
  const rest = others.reduce((n, p) => n + p.figures.length, 0);
  return [
    h('p', {}, marksSentence(name, parts)),
    ...(base.as_swept ? [] : [h('p', { className: 'wrong' }, changedSentence(name))]),
    h(
      'div',
      { className: 'beside' },
      h('div', {}, ...binding.map(partTable), furtherParts(others, rest)),
      h('div', {}, ...measured(state, chip)),
    ),
  ];
}

function marksSentence(name: string, parts: readonly Part[]): string {
  const marks = marksIn(parts);
  const all = marks.reduce((n, [, times]) => n + times, 0);
  const said = marks.map(([mark, times]) =>
    mark === '' ? `${times} bear no mark` : `${times} are [${mark}] ${kMarks[mark] ?? 'of another kind'}`,
  );
  return `Of ${count(all, 'figure')} of ${name}, ${said.join('; ')}. Those that bind its times come first.`;
}

const changedSentence = (name: string): string =>
  `The file of ${name} is another one than the sweep has read, or another version of Tilescope has read it: ` +
  'marks and sources are those of today.';

const kWhole = 'the chip as a whole';

function partTable(part: Part): HTMLElement {
  const title = `${part.name === '' ? kWhole : part.name}${part.share > 0 ? `, binds ${percent(part.share)} of the time` : ''}`;
  return h(
    'div',
    { className: 'scroll part', data: { part: part.name } },
    h('table', { className: 'list sources' }, h('caption', {}, title), h('tbody', {}, ...part.figures.map(figureRow))),
  );
}

function figureRow(f: SourcedFigure): HTMLElement {
  const mark = f.mark === '' ? '' : `[${f.mark}]`;
  const value = f.was === null ? f.value : `${f.value} instead of ${f.was}`;
  return h(
    'tr',
    { title: f.at },
    h('th', { aria: { scope: 'row' } }, f.key),
    h('td', { className: f.was === null ? '' : 'other' }, value),
    h('td', { title: kMarks[f.mark] ?? '' }, mark),
    h('td', { className: 'text' }, f.source),
  );
}

const furtherParts = (parts: readonly Part[], figures: number): Child =>
  parts.length === 0
    ? null
    : h(
        'details',
        {},
        h('summary', {}, `${count(figures, 'further figure')}, which bind nothing here`),
        ...parts.map(partTable),
      );

/** What was measured: of the predictions the nearest rows, of the model's rates the ratios to them. */
function measured(state: State, chip: number): HTMLElement[] {
  const base = sourcesOf(state.report, chip);
  const residuals = residualsOf(state, chip);
  const bandText = (low: number | null, high: number | null) =>
    low === null || high === null ? 'nothing measured' : `${number(low)} to ${number(high)}`;
  const rows = residuals.map((k) =>
    h(
      'tr',
      { data: { kind: k.kind } },
      h('th', { aria: { scope: 'row' } }, k.kind),
      h('td', {}, String(k.operators)),
      h('td', {}, bandText(k.low, k.high)),
      h('td', {}, k.rows === null ? '' : k.rows.toLocaleString('en-US')),
      h('td', { className: 'text' }, k.source),
    ),
  );
  const foreign = residuals.some((k) => k.low !== null && !k.holds);
  const missing = residuals.every((k) => k.low === null);
  const about = missing
    ? 'No measured rows are near: no interval says how far off these predictions are.'
    : foreign
      ? `${chipName(chip)} was never measured, and its changes void the bands of its base; those of the base as it is, the nearest that there are:`
      : 'Of 80 % of the measured times, the ratio to the predicted ones, by kind of operator.';
  const ratios = Object.entries(base?.calibration ?? {});
  return [
    h('h3', {}, 'Measured rows nearest to the predictions'),
    h('p', { className: 'note' }, about),
    ...(missing ? [] : [table(['kind', 'operators', 'measured/predicted', 'rows', 'of'], rows)]),
    h('h3', {}, 'Ratios that calibrate the model'),
    ...(ratios.length === 0
      ? [absent('The file states none: peaks are taken as they are.')]
      : [
          table(
            ['of', 'reached/peak', 'residual', 'source'],
            ratios.map(([of, c]) =>
              h(
                'tr',
                {},
                h('th', { aria: { scope: 'row' } }, of),
                h('td', {}, number(c.ratio)),
                h('td', {}, c.residual === undefined ? '' : percent(c.residual)),
                h('td', { className: 'text' }, c.source ?? ''),
              ),
            ),
          ),
        ]),
  ];
}

const table = (head: readonly string[], rows: readonly HTMLElement[]): HTMLElement =>
  h(
    'div',
    { className: 'scroll part' },
    h(
      'table',
      { className: 'list sources' },
      h('thead', {}, h('tr', {}, ...head.map((text) => h('th', { aria: { scope: 'col' } }, text)))),
      h('tbody', {}, ...rows),
    ),
  );
