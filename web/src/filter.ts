// SPDX-License-Identifier: Apache-2.0
// The filter line: "core.count >= 80, smem.banks = 16|32, ratio < 0.9". Conditions that all have to hold, with a comma
// between them; = takes several values. Where words are asked for, a text without a comparison is one: some column
// contains it. A drawing that is brushed reads its ranges from the line and writes them there.

import { parseQuantity } from './format';

export interface FilterColumn {
  names: string[];
  unit: string; // of its numbers
  number: (chip: number) => number | null;
  text: (chip: number) => string;
}

export type Test = (chip: number) => boolean;

const kOperators = ['<=', '>=', '!=', '=', '<', '>'] as const;
type Operator = (typeof kOperators)[number];

const kCompare: Record<Operator, (a: number, b: number) => boolean> = {
  '<=': (a, b) => a <= b,
  '>=': (a, b) => a >= b,
  '!=': (a, b) => a !== b,
  '=': (a, b) => a === b,
  '<': (a, b) => a < b,
  '>': (a, b) => a > b,
};

/** Numbers were written with four digits or more: what differs less is equal. */
function compare(a: number, b: number, as: (a: number, b: number) => boolean): boolean {
  return Math.abs(a - b) <= 1e-6 * Math.abs(b) ? as(0, 0) : as(a, b);
}

/** Parts of the line between commas, but for those of "$5,000" and of "max(a, b)". */
const kParts = /(?:[^,;()]|\([^()]*\)|[()]|(?<=\d),(?=\d{3}(?!\d)))+/g;
export const partsOf = (line: string): string[] => (line.match(kParts) ?? []).map((p) => p.trim()).filter((p) => p);

/** "area", "<=", "600 mm2" of a condition. */
function split(text: string): { name: string; operator: Operator; wanted: string } | null {
  const found = /^(.+?)(<=|>=|!=|=|<|>)(.+)$/.exec(text.replaceAll('≤', '<=').replaceAll('≥', '>='));
  return found && { name: found[1] ?? '', operator: found[2] as Operator, wanted: found[3] ?? '' };
}

const squeezed = (text: string) => text.replace(/\s+/g, '').toLowerCase();

const columnOf = (name: string, columns: readonly FilterColumn[]): FilterColumn | undefined =>
  columns.find((c) => c.names.some((n) => squeezed(n) === squeezed(name)));

function condition(text: string, columns: readonly FilterColumn[], words: boolean): Test | string {
  const found = split(text);
  if (!found && words) {
    const wanted = text.toLowerCase();
    return (item) => columns.some((c) => c.text(item).toLowerCase().includes(wanted));
  }
  if (!found) return `'${text}' is no condition; write one such as ${columns[0]?.names[0] ?? 'ratio'} >= 1`;
  const { operator } = found;
  const column = columnOf(found.name, columns);
  if (!column)
    return `no column is called '${found.name.trim()}'; there are ${columns.map((c) => c.names[0]).join(', ')}`;
  if (operator === '=' || operator === '!=') {
    const tests = found.wanted.split('|').map((wanted) => equals(squeezed(wanted), column));
    if (operator === '=') return (chip) => tests.some((t) => t(chip));
    const numbers = parseQuantity(squeezed(found.wanted), column.unit) !== null;
    return (chip) => !(numbers && column.number(chip) === null) && !tests.some((t) => t(chip));
  }
  const value = parseQuantity(squeezed(found.wanted), column.unit);
  if (value === null) return `'${found.wanted.trim()}' is no number, and ${operator} compares numbers`;
  return (chip) => {
    const x = column.number(chip);
    return x !== null && compare(x, value, kCompare[operator]);
  };
}

/** Numbers are compared where the wanted value is one and the chip has one, else texts. */
function equals(wanted: string, column: FilterColumn): Test {
  const value = parseQuantity(wanted, column.unit);
  return (chip) => {
    const x = column.number(chip);
    if (value !== null && x !== null) return compare(x, value, kCompare['=']);
    return squeezed(column.text(chip)) === wanted;
  };
}

/** What the line asks of a chip, or what is wrong with it. An empty line asks nothing. */
export function parseFilter(
  line: string,
  columns: readonly FilterColumn[],
  words = false,
): { test: Test } | { error: string } {
  const tests: Test[] = [];
  for (const part of partsOf(line)) {
    const test = condition(part, columns, words);
    if (typeof test === 'string') return { error: test };
    tests.push(test);
  }
  return { test: (chip) => tests.every((t) => t(chip)) };
}

/** What the line asks of one column: numbers from `low` to `high`, or one of some texts; null where it asks nothing. */
export interface Range {
  low: number | null;
  high: number | null;
  texts: string[] | null;
}

const isOf = (part: string, column: FilterColumn): ReturnType<typeof split> => {
  const found = split(part);
  return found && found.operator !== '!=' && columnOf(found.name, [column]) ? found : null;
};

export function rangeOf(line: string, column: FilterColumn): Range | null {
  const range: Range = { low: null, high: null, texts: null };
  for (const part of partsOf(line)) {
    const found = isOf(part, column);
    if (!found) continue;
    const value = parseQuantity(squeezed(found.wanted), column.unit);
    if (found.operator === '=') {
      if (value !== null) range.low = range.high = value;
      range.texts = found.wanted.split('|').map((t) => t.trim());
    } else if (value !== null) {
      if (found.operator.startsWith('>')) range.low = Math.max(range.low ?? -Infinity, value);
      else range.high = Math.min(range.high ?? Infinity, value);
    }
  }
  return range.low === null && range.high === null && range.texts === null ? null : range;
}

/** The line with these conditions on the column, "name >= 3", in place of those that it has. */
export function withConditions(line: string, column: FilterColumn, conditions: readonly string[]): string {
  return [...partsOf(line).filter((part) => !isOf(part, column)), ...conditions].join(', ');
}
