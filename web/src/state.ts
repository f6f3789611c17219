// SPDX-License-Identifier: Apache-2.0
// What the reader has chosen, heard by every view: the chip that is highlighted, the chips that are shown, and which
// times are looked at.

import { rowOf, type Column, type Report, type Source } from './data';
import { paretoFront } from './pareto';
import { Watched } from './watched';

export interface Choice {
  chip: number | null; // highlighted everywhere
  shown: readonly number[]; // chips that pass the filter
  source: Source;
  operator: number | null; // null: all of them, or those of the network, weighted
  network: number | null;
  quantity: number; // of costs, what the front is drawn against
  moreCosts: boolean; // whether more of that quantity is what one pays for
}

/** A column over chips that may be a cost: a derived quantity or a swept axis of numbers. */
export interface CostColumn {
  name: string;
  unit: string;
  values: Column;
}

export class State extends Watched<Choice> {
  readonly costs: CostColumn[];
  private readonly cache = new Map<string, Column>();
  private frontOf: unknown[] = [null];
  private knownFront: readonly number[] = [];

  constructor(readonly report: Report) {
    super({
      chip: null,
      shown: report.chips.base.map((_, chip) => chip),
      source: report.chips.totals[0]?.source ?? 'predicted',
      operator: null,
      network: null,
      quantity: 0,
      moreCosts: true,
    });
    this.costs = costsOf(report);
  }

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

  cost(): CostColumn | undefined {
    return this.costs[this.choice.quantity];
  }

  /** The chips shown that no other one beats in time and cost, the cheapest first. */
  front(): readonly number[] {
    const { shown, source, operator, network, quantity, moreCosts } = this.choice;
    const of = [shown, source, operator, network, quantity, moreCosts];
    if (of.some((x, i) => x !== this.frontOf[i])) [this.frontOf, this.knownFront] = [of, this.makeFront()];
    return this.knownFront;
  }

  private makeFront(): number[] {
    const cost = this.cost();
    if (!cost) return [];
    const sign = this.choice.moreCosts ? 1 : -1;
    const values = sign > 0 ? cost.values : cost.values.map((v) => (v === null ? null : -v));
    return paretoFront(values, this.times(), this.choice.shown);
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

export function timesOf(rows: Report['rows'], source: Source): Column | null {
  return { predicted: rows.predicted_us, simulated: rows.simulated_us, measured: rows.measured_us }[source];
}

/** What varies over the chips and can be paid for: the sweep's own cost, derived quantities, then the axes themselves. */
function costsOf(report: Report): CostColumn[] {
  const axes = report.axes.flatMap((a, i) =>
    a.numbers.some((n) => n !== null)
      ? [{ name: a.name, unit: a.unit, values: (report.chips.axis[i] ?? []).map((v) => a.numbers[v ?? -1] ?? null) }]
      : [],
  );
  const varies = (column: CostColumn) => {
    const known = column.values.filter((v) => v !== null);
    return known.some((v) => v !== known[0]);
  };
  const e = report.multi_fidelity;
  const own = e?.cost && e.chips.cost ? [{ name: e.cost, unit: '', values: e.chips.cost }] : [];
  return [...own, ...report.chips.quantities, ...axes].filter(varies);
}
