// SPDX-License-Identifier: Apache-2.0
// The document inside the page (docs/json.md, REPORT): columns of numbers and dictionary-coded texts. What arrives here
// was computed by `tilescope report`; nothing in this folder computes a time.

/** Texts that repeat: row i says `dictionary[codes[i]]`, or nothing where the code is null. */
export interface Coded {
  dictionary: string[];
  codes: (number | null)[];
}

export type Column = (number | null)[];

/** Times of one source: of a chip the weighted total of all operators, null where one of them is missing. */
export interface Total {
  source: Source;
  total_us: Column;
  ratio: Column; // over the chip's base
}

export type Source = 'predicted' | 'simulated' | 'measured';

export interface Axis {
  name: string;
  values: string[];
  numbers: (number | null)[]; // of the values, in `unit`
  unit: string;
  group: number | null; // axes of one group move together; one that follows others has none
  settable: boolean; // a path that --set takes
}

/** Axes that move together, as one direction of the sweep. */
export interface Dimension {
  name: string;
  values: string[];
  of: (number | null)[]; // of every chip, the index of its value
}

export interface Quantity {
  name: string;
  unit: string;
  values: Column;
}

export type Better = 'less' | 'more';

/** What the sweep wants of its chips, a number of each. */
export interface Objective extends Quantity {
  better: Better;
}

/** A bound on the objective or quantity of that name. */
export interface Constraint {
  text: string; // as the sweep's file has it
  name: string;
  unit: string;
  bound: number;
  at_most: boolean;
}

/** What an energy, an area or a price of the chips consists of. */
export interface Whole {
  name: string;
  unit: string;
  parts: { name: string; values: Column }[];
}

/** How one source of times stands to another, by kind of operator; the last kind is `all`. */
export interface Accuracy {
  ours: Source;
  truth: Source;
  kinds: {
    kind: string;
    compared: number;
    mape_ratio: number | null;
    median_error_ratio: number | null;
    bias_ratio: number | null;
    spearman: number | null;
    kendall: number | null;
    within_band_ratio: number | null;
  }[];
}

/** A peak of an instruction or a bandwidth of a level: numbers, and of every chip which it has; without codes the first. */
export interface Roof {
  of: string; // the instruction or the level
  unit: 'FLOP/s' | 'B/s';
  values: number[];
  codes?: (number | null)[];
}

/** What programs compute by instruction and move by level; `codes` has of every row its entry. */
export interface Work {
  flop: Record<string, Column>;
  bytes: Record<string, Column>;
  codes: (number | null)[];
}

/** Where the numbers of a base come from. */
export interface BaseSources {
  chip: number;
  as_swept: boolean; // the files are those that the sweep has read
  figures: { part: string; key: string; value: string; mark?: string; source?: string; at: string }[];
  calibration?: Record<string, { ratio: number; residual?: number; source?: string }>;
  error_bands?: Record<string, { dtype?: string; low: number; high: number; rows?: number; source?: string }>;
}

/** Of an objective, how it depends on each axis; what `tilescope sensitivity --json` prints. */
export interface Sensitivity {
  objective: string;
  unit?: string | null;
  points: number;
  rows: number;
  rows_lost: number;
  mean: number;
  deviation: number;
  centre: string;
  axes: AxisSensitivity[];
}

export interface AxisSensitivity {
  axis: string;
  values: number;
  elasticity: number | null;
  from?: string | null;
  to?: string | null;
  first_order: number;
  first_order_interval: [number, number];
  total: number;
  total_interval: [number, number];
}

/** Columns over chips x operators, of which row `chip * operators + operator` is one. */
export interface Rows {
  predicted_us: Column;
  simulated_us: Column | null;
  measured_us: Column | null;
  ratio: { predicted: Column; simulated: Column | null };
  band: { low_ratio: number[]; high_ratio: number[]; codes: (number | null)[] };
  bottleneck: Coded;
  waves: Column;
  occupancy: Coded; // and what limits it
  program: (number | null)[];
  error: Coded;
  work?: Work;
}

/** Programs that rows refer to by number: named fields, each a column of texts. */
export interface Programs {
  fields: { name: string; texts: Coded }[];
}

export type Chosen = 'base' | 'front' | 'neighbour' | 'validation';

/** What of the sweep the simulator judged too, and what that tells apart; points are chips of this document. */
export interface MultiFidelity {
  mode: string;
  seed: number;
  cost: string | null;
  chosen: Record<Chosen, number>;
  ratio: {
    n: number;
    population: number;
    median_ratio: number | null;
    least_ratio: number | null;
    most_ratio: number | null;
    low_ratio: number | null;
    high_ratio: number | null;
    coverage_ratio: number | null;
  };
  simulated: {
    point: number;
    chosen: Chosen;
    cost: number | null;
    predicted_us: number;
    simulated_us: number;
    low_us: number | null;
    high_us: number | null;
  }[];
  differences: { points: [number, number]; predicted_ratio: number; simulated_ratio: number; faster: number | null }[];
  not_simulated: { points: number; slower_beyond_band: number };
  no_claims: string | null;
  chips: { chosen: Coded; cost: Column | null; low_us: Column; high_us: Column };
}

/** A network among the workloads: its operators, by their numbers, and their weighted totals. */
export interface SweptNetwork {
  name: string;
  operators: number[];
  totals: Total[];
}

export interface Report {
  report: number;
  title: string;
  version: string;
  provenance: [string, string][];
  sweep: { file: string; text: string; sequence?: boolean };
  counts: { chips: number; bases: number; refused: number; rows: number; done: number; failed: number };
  operators: { id: string[]; kind: string[]; weight: number[]; about: string[]; command: (string | null)[] };
  networks: SweptNetwork[];
  axes: Axis[];
  objectives?: Objective[];
  constraints?: Constraint[];
  chips: {
    arch: Coded;
    base: (number | null)[]; // the chip that each is compared with
    axis: (number | null)[][]; // per axis and chip, the index of its value; null where a base has no such value
    quantities: Quantity[];
    totals: Total[];
    bound: { names: string[]; shares: Column[] }; // per name and chip, of the weighted predicted time
    refused: Coded; // why there is no such chip
    violation?: Column; // by how much of the bounds they are exceeded; 0: none is, null: that is not known
    parts?: Whole[];
    roofs?: Roof[];
  };
  rows: Rows;
  programs: Programs;
  accuracy: Accuracy[];
  multi_fidelity?: MultiFidelity | null;
  bases?: BaseSources[];
  sensitivities?: Sensitivity[];
}

export const kForm = 1; // of the document; docs/json.md

export function textOf(coded: Coded, i: number): string | null {
  const code = coded.codes[i];
  return code === null || code === undefined ? null : (coded.dictionary[code] ?? null);
}

/** The document of the page, whatever it is of, or an error that says what is wrong with it. */
export function parse(text: string): { report: number } {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    throw new Error(
      text.includes('@@TILESCOPE_REPORT@@')
        ? 'This is the empty template of a report. `tilescope report STORE -o FILE` fills it.'
        : 'The data in this file is damaged. Make the report again with `tilescope report`.',
    );
  }
  const report = parsed as { report: number };
  if (report.report !== kForm)
    throw new Error(`The data in this file is of form ${String(report.report)}, and this page reads form ${kForm}.`);
  return report;
}

/** The document of a sweep. */
export const decode = (text: string): Report => sweepOf(parse(text));

/** Checked as one. */
export function sweepOf(parsed: { report: number }): Report {
  const report = parsed as Report;
  const wrong = inconsistency(report);
  if (wrong) throw new Error(`The data in this file is damaged: ${wrong}.`);
  return report;
}

function inconsistency(r: Report): string | null {
  const chips = r.counts.chips;
  const rows = chips * r.operators.id.length;
  const columns: [string, number, number][] = [
    ['base', r.chips.base.length, chips],
    ['predicted_us', r.rows.predicted_us.length, rows],
    ['bottleneck', r.rows.bottleneck.codes.length, rows],
    ['program', r.rows.program.length, rows],
    ...r.axes.map((a, i): [string, number, number] => [`axis ${a.name}`, r.chips.axis[i]?.length ?? 0, chips]),
    ...r.chips.quantities.map((q): [string, number, number] => [q.name, q.values.length, chips]),
    ...[...r.chips.totals, ...r.networks.flatMap((n) => n.totals)].map((t): [string, number, number] => [
      t.source,
      t.total_us.length,
      chips,
    ]),
    ...(r.objectives ?? []).map((o): [string, number, number] => [o.name, o.values.length, chips]),
    ['violation', r.chips.violation?.length ?? chips, chips],
    ['work', r.rows.work?.codes.length ?? rows, rows],
    ...(r.chips.roofs ?? []).map((f): [string, number, number] => [`roof ${f.of}`, f.codes?.length ?? chips, chips]),
    ...(r.chips.parts ?? []).flatMap((w) =>
      w.parts.map((p): [string, number, number] => [`${w.name} of ${p.name}`, p.values.length, chips]),
    ),
  ];
  for (const [name, is, wanted] of columns) if (is !== wanted) return `${name} has ${is} entries and not ${wanted}`;
  return null;
}

/** The shortest ends of the dotted names that still tell them apart, at least two steps long. */
export function shortNames(names: string[]): string[] {
  const end = (name: string, steps: number) => name.split('.').slice(-steps).join('.');
  return names.map((name) => {
    for (let steps = 2; steps < name.split('.').length; ++steps) {
      const short = end(name, steps);
      if (names.filter((other) => end(other, steps) === short).length === 1) return short;
    }
    return name;
  });
}

/** The value of an axis that a chip has; empty where it has none. */
export function valueOf(r: Report, axis: number, chip: number): string {
  return r.axes[axis]?.values[r.chips.axis[axis]?.[chip] ?? -1] ?? '';
}

/** Whether the chip is a base as it is, and no point of the grid. */
export const isBase = (r: Report, chip: number): boolean => r.chips.base[chip] === chip;

/** The directions in which the sweep goes, in the order of its axes; values by number, or as the grid has them. */
export function dimensionsOf(r: Report): Dimension[] {
  const groups = [...new Set(r.axes.flatMap((a) => (a.group === null ? [] : [a.group])))];
  return groups.map((group) => {
    const axes = r.axes.map((_, i) => i).filter((i) => r.axes[i]?.group === group);
    const seen = new Set<string>();
    const text = (chip: number) => axes.map((i) => valueOf(r, i, chip)).join(', ');
    r.chips.base.forEach((_, chip) => {
      if (!isBase(r, chip)) seen.add(text(chip));
    });
    const values = inOrder([...seen], axes.length === 1 ? r.axes[axes[0] ?? -1] : undefined);
    const places = new Map(values.map((value, place) => [value, place]));
    const of = r.chips.base.map((_, chip) => places.get(text(chip)) ?? null);
    return { name: axes.map((i) => r.axes[i]?.name ?? '').join(', '), values, of };
  });
}

/** Numbers from the least on: where constraints leave points out, the grid meets them in another order. */
function inOrder(values: string[], axis: Axis | undefined): string[] {
  const number = (value: string) => axis?.numbers[axis.values.indexOf(value)] ?? null;
  if (!values.every((v) => number(v) !== null)) return values;
  return values.sort((a, b) => (number(a) ?? 0) - (number(b) ?? 0));
}

/** How the chip stands to another one by their intervals: nothing before all is simulated, or without an interval. */
export function verdict(e: MultiFidelity, chip: number, other: number): 'faster' | 'slower' | 'within the band' | '' {
  const [low, high] = [e.chips.low_us, e.chips.high_us];
  const ends = [low[chip], high[chip], low[other], high[other]];
  if (e.no_claims !== null || ends.some((x) => typeof x !== 'number')) return '';
  const [ownLow, ownHigh, otherLow, otherHigh] = ends as [number, number, number, number];
  return ownHigh < otherLow ? 'faster' : otherHigh < ownLow ? 'slower' : 'within the band';
}

/** The row of an operator on a chip. */
export function rowOf(r: Report, chip: number, operator: number): number {
  return chip * r.operators.id.length + operator;
}

/**
 * What `tilescope compile` is called with to construct the operator's programs for the chip; nothing where the sweep
 * did something to the program that no option says, or where it is of a sequence that is no suite.
 */
export function commandOf(r: Report, chip: number, operator: number): string | null {
  const sets: string[] = [];
  for (const [i, axis] of r.axes.entries()) {
    const value = valueOf(r, i, chip);
    if (axis.settable && !isBase(r, chip)) sets.push(`--set ${quoted(`${axis.name}=${value}`)}`);
    if (!axis.settable && axis.name !== 'base' && !['', 'construct', 'best'].includes(value)) return null;
  }
  const options = r.operators.command[operator] ?? null;
  if (options === null) return null;
  return ['tilescope compile', `--arch ${quoted(textOf(r.chips.arch, chip) ?? '')}`, ...sets, options].join(' ');
}

/** A word of a shell's command line. */
const quoted = (word: string): string => (/^[\w.=:/+-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);

/** The column of one source; null where the document has no such times. */
export function timesOf(rows: Report['rows'], source: Source): Column | null {
  return { predicted: rows.predicted_us, simulated: rows.simulated_us, measured: rows.measured_us }[source];
}
