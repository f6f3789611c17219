// SPDX-License-Identifier: Apache-2.0
// What the reader has chosen, heard by every view: the chip that is highlighted, the chips that are shown, and which
// times are looked at.

import { rowOf, timesOf, type Column, type Report, type Source } from './data';
import { feasible, measuresOf, type Measure } from './measures';
import { paretoFront } from './pareto';
import { Look } from './looks';
import { Watched } from './watched';

export interface Choice {
  chip: number | null; // highlighted everywhere
  shown: readonly number[]; // chips that pass the filter
  source: Source;
  operator: number | null; // null: all of them, or those of the network, weighted
  network: number | null;
  line: string; // of the filter, as it was written
  x: number; // of measures, what the front is drawn over
  y: number;
  xMore: boolean; // whether more of it is better
  yMore: boolean;
  looks: Readonly<Record<string, string>>; // what single views have chosen, by its name in the address
}

export class State extends Watched<Choice> {
  readonly measures: readonly Measure[];
  private readonly cache = new Map<string, Column>();
  private readonly looks = new Map<string, Look>();
  private frontOf: unknown[] = [null];
  private knownFront: readonly number[] = [];

  constructor(readonly report: Report) {
    const measures = measuresOf(report);
    const [y = 0, x = 0] = firstAxes(report, measures);
    super({
      chip: null,
      shown: report.chips.base.map((_, chip) => chip),
      source: report.chips.totals[0]?.source ?? 'predicted',
      operator: null,
      network: null,
      line: '',
      x,
      y,
      xMore: measures[x]?.better === 'more',
      yMore: measures[y]?.better === 'more',
      looks: {},
    });
    this.measures = measures;
  }

  /** A choice of one view among these names, the same one wherever it is asked for; `first` is how the page opens. */
  look(key: string, names: readonly string[], first = 0): Look {
    const known = this.looks.get(key) ?? new Look(this, key, names, names[first] ?? '');
    this.looks.set(key, known);
    return known;
  }

  /** Those that differ from how the page opens, by their names in the address. */
  chosenLooks(): [string, string][] {
    return [...this.looks.values()].filter((l) => !l.isFirst()).map((l) => [l.key, l.name()]);
  }

  /** Writes the filter's line for the reader; the line itself says what it does. */
  filter: (line: string) => void = () => {};

  /** Of every chip, the time that is looked at: of one operator, or the weighted total. */
  times(): Column {
    return this.column('us');
  }

  /** The same by a source of times of one's own. */
  timesBy(source: Source): Column {
    return this.column('us', source);
  }

  /** The same over the time of the chip's base. */
  ratios(): Column {
    return this.column('ratio');
  }

  /** "predicted time of all operators, weighted". */
  timeName(): string {
    const { source, operator, network } = this.choice;
    const name = operator !== null ? this.report.operators.id[operator] : this.report.networks[network ?? -1]?.name;
    return `${source} time${name === undefined ? '' : ` of ${name}`}${operator === null ? ', weighted total' : ''}`;
  }

  x(): Measure {
    return this.measures[this.choice.x] as Measure;
  }

  y(): Measure {
    return this.measures[this.choice.y] as Measure;
  }

  valuesOf(m: Measure): Column {
    return m.values ?? this.times();
  }

  /** What the measure is called where there is room. */
  nameOf(m: Measure): string {
    return m.values === null ? this.timeName() : m.name;
  }

  /** Chips shown that keep to every budget and that no other such one beats in x and y, from left to right. */
  front(): readonly number[] {
    const { shown, source, operator, network, x, y, xMore, yMore } = this.choice;
    const of = [shown, source, operator, network, x, y, xMore, yMore];
    if (of.some((v, i) => v !== this.frontOf[i])) [this.frontOf, this.knownFront] = [of, this.makeFront()];
    return this.knownFront;
  }

  private makeFront(): number[] {
    const { xMore, yMore, shown } = this.choice;
    const cost = (m: Measure, more: boolean) =>
      more ? this.valuesOf(m).map((v) => (v === null ? null : -v)) : this.valuesOf(m);
    const kept = this.report.chips.violation ? shown.filter((chip) => feasible(this.report, chip)) : shown;
    const front = paretoFront(cost(this.x(), xMore), cost(this.y(), yMore), kept);
    return xMore ? front.reverse() : front;
  }

  private column(what: 'us' | 'ratio', source: Source = this.choice.source): Column {
    const { operator, network } = this.choice;
    const key = `${what} ${source} ${operator} ${network}`;
    const known = this.cache.get(key);
    if (known) return known;
    const made = this.makeColumn(what, source);
    this.cache.set(key, made);
    return made;
  }

  private makeColumn(what: 'us' | 'ratio', source: Source): Column {
    const { operator, network } = this.choice;
    if (operator === null) {
      const totals = this.report.networks[network ?? -1]?.totals ?? this.report.chips.totals;
      const total = totals.find((t) => t.source === source);
      return (what === 'us' ? total?.total_us : total?.ratio) ?? [];
    }
    const { rows } = this.report;
    const all = what === 'us' ? timesOf(rows, source) : source === 'measured' ? null : rows.ratio[source];
    return this.report.chips.base.map((_, chip) => all?.[rowOf(this.report, chip, operator)] ?? null);
  }
}

/** What the choice of an x and a y is drawn from: a view that draws the front looks at all of these. */
export const kFrontKeys = ['shown', 'source', 'operator', 'network', 'x', 'y', 'xMore', 'yMore'] as const;

/** The first objective over one with a budget, else over the second one; without objectives time over the first cost. */
function firstAxes(r: Report, measures: readonly Measure[]): [number, number] {
  const place = (name: string) => measures.findIndex((m) => m.name === name);
  const wanted = (r.objectives ?? []).map((o) => place(o.name)).filter((i) => i >= 0);
  const y = wanted[0] ?? 0;
  const budgeted = wanted.find((i) => i !== y && r.constraints?.some((c) => c.name === measures[i]?.name));
  const x = budgeted ?? wanted.find((i) => i !== y);
  return [y, x ?? (y !== 0 ? 0 : measures.length > 1 ? 1 : 0)];
}
