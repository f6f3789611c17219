// SPDX-License-Identifier: Apache-2.0
// What the sweep found, as one sentence with its numbers: the best chip within the budget, what it changes, by how much
// over its base, and how sure that is.

import { apart, bandOf, type Band } from './band';
import { changes, chipName } from './card';
import { isBase, shortNames, type Column } from './data';
import { count, percent, quantity, time } from './format';
import { budgetsInWords, feasible, firstObjective, violationText, type Measure } from './measures';
import { cheapest } from './pareto';
import type { State } from './state';

export interface Headline {
  chip: number | null; // the sentence is about
  words: { text: string; strong?: boolean; chip?: number }[];
  note: string;
}

/** The best chip shown that keeps to every budget, of equals by the other objectives; null where there is none. */
export function bestChip(state: State): number | null {
  const r = state.report;
  const first = firstObjective(r, state.measures);
  const others = state.measures.filter((m) => m.objective && m !== first);
  let kept = state.get().shown.filter((chip) => feasible(r, chip));
  if (cheapest(costOf(state, first), kept) === null) return null;
  for (const m of [first, ...others]) {
    const cost = costOf(state, m);
    const best = cheapest(cost, kept);
    if (best !== null) kept = kept.filter((chip) => cost[chip] === cost[best]);
  }
  return kept[0] ?? null;
}

const costOf = (state: State, m: Measure): Column =>
  m.better === 'more' ? state.valuesOf(m).map((v) => (v === null ? null : -v)) : state.valuesOf(m);

export function headlineOf(state: State): Headline {
  const r = state.report;
  const m = firstObjective(r, state.measures);
  const chip = bestChip(state);
  if (chip === null) return { ...without(state, m), note: keptNote(state) };
  const value = quantity(state.valuesOf(m)[chip], m.unit);
  const best = `the ${m.better === 'more' ? 'most' : 'least'} ${wordsOf(state, m)}`;
  const what = whatOf(state, chip);
  return {
    chip,
    words: [
      { text: capital(chipName(chip)), chip },
      { text: `${what} has ${best} ${amongWords(state)}: ` },
      { text: value, strong: true },
      ...gainWords(state, m, chip),
      { text: `; ${sureWords(state, m, chip)}.` },
    ],
    note: [keptNote(state), baseNote(state, chip)].filter((s) => s !== '').join(' '),
  };
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/** "predicted time of M0", "energy". */
const wordsOf = (state: State, m: Measure): string =>
  m.values === null ? state.timeName().replace(', weighted total', '') : m.name;

function whatOf(state: State, chip: number): string {
  const r = state.report;
  if (isBase(r, chip)) return ', the base as it is,';
  const what = changes(r, chip, shortNames(r.axes.map((a) => a.name)));
  return what === '' ? '' : `, with ${what},`;
}

/** "of the 412 chips within area ≤ 600 mm²". */
function amongWords(state: State): string {
  const r = state.report;
  const { shown, line } = state.get();
  const kept = shown.filter((chip) => feasible(r, chip)).length;
  const budgets = budgetsInWords(r);
  const left = line === '' ? '' : ' that the filter leaves';
  return `of ${count(kept, 'chip')}${left}${r.chips.violation && budgets !== '' ? ` within ${budgets}` : ''}`;
}

/** ", 17 % less than the 1.48 ms of its base". */
function gainWords(state: State, m: Measure, chip: number): Headline['words'] {
  const base = state.report.chips.base[chip];
  if (base === null || base === undefined || base === chip) return [];
  const [own, other] = [state.valuesOf(m)[chip], state.valuesOf(m)[base]];
  if (typeof own !== 'number' || typeof other !== 'number') return [{ text: ' (its base has no figure)' }];
  const of = `${quantity(other, m.unit)} of its base`;
  if (own === other) return [{ text: `, as much as the ${of}` }];
  const by = other === 0 ? quantity(Math.abs(own - other), m.unit) : percent(Math.abs(own / other - 1));
  return [
    { text: ', ' },
    { text: `${by} ${own < other ? 'less' : 'more'}`, strong: true },
    { text: ` than the ${of}` },
  ];
}

const ends = (band: Band): string => `${time(band.low)} to ${time(band.high)}`;

function sureWords(state: State, m: Measure, chip: number): string {
  if (m.values !== null) return `no band says how sure that is: ${m.name} has none`;
  const band = bandOf(state, chip);
  if (!band) return 'no band says how sure that is: none holds for this chip';
  const base = state.report.chips.base[chip];
  const own = `in 80 % of such cases it is ${ends(band)}`;
  if (base === null || base === undefined || base === chip) return own;
  const other = bandOf(state, base);
  if (!other) return `${own}, and its base has no band`;
  const claims = state.report.multi_fidelity?.no_claims ?? null;
  if (claims !== null) return `${own}, and nothing is claimed before ${claims}`;
  const said = { below: 'so it is faster beyond the band', above: 'so it is slower beyond the band' };
  const way = apart(band, other);
  return `${own}, its base ${ends(other)}, ${way === 'within' || way === null ? 'so the two are not told apart' : said[way]}`;
}

function without(state: State, m: Measure): Omit<Headline, 'note'> {
  const r = state.report;
  const { shown } = state.get();
  const none = (text: string) => ({ chip: null, words: [{ text }] });
  if (shown.length === 0) return none('The filter leaves no chip.');
  const kept = shown.filter((chip) => feasible(r, chip));
  if (kept.length > 0) return none(`No chip has a known ${wordsOf(state, m)} yet.`);
  const nearest = cheapest(r.chips.violation ?? [], shown);
  const budgets = budgetsInWords(r);
  const no = `No chip keeps to ${budgets === '' ? 'the budget' : budgets}`;
  if (nearest === null) return none(`${no}, as far as is known: figures are missing.`);
  return {
    chip: nearest,
    words: [
      { text: `${no}; the nearest miss is ` },
      { text: chipName(nearest), chip: nearest },
      { text: `${whatOf(state, nearest).replace(/,$/, '')}, ` },
      { text: violationText(r.chips.violation?.[nearest]), strong: true },
      { text: ' beyond.' },
    ],
  };
}

/** How many chips keep to the budgets. */
function keptNote(state: State): string {
  const r = state.report;
  if (!r.chips.violation) return '';
  const { shown } = state.get();
  const of = (wanted: boolean | null) => shown.filter((chip) => feasible(r, chip) === wanted).length;
  const unknown = of(null);
  const n = (x: number) => x.toLocaleString('en-US');
  const missing = unknown > 0 ? `, of ${n(unknown)} that is not known` : '';
  return `${n(of(true))} of ${count(shown.length, 'chip')} keep to the budget, ${n(of(false))} do not${missing}.`;
}

function baseNote(state: State, chip: number): string {
  const r = state.report;
  const base = r.chips.base[chip];
  const by = base === null || base === undefined ? null : r.chips.violation?.[base];
  return by && by > 0 ? `The base itself exceeds the budget by ${percent(by)}.` : '';
}
