// SPDX-License-Identifier: Apache-2.0
// The filter line: "core.count >= 80, smem.banks = 32, ratio < 0.9". Conditions that all have to hold, with a comma
// between them. Where words are asked for, a text without a comparison is one: some column contains it.

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

const squeezed = (text: string) => text.replace(/\s+/g, '').toLowerCase();

function condition(text: string, columns: readonly FilterColumn[], words: boolean): Test | string {
  const found = /^(.+?)(<=|>=|!=|=|<|>)(.+)$/.exec(text);
  if (!found && words) {
    const wanted = text.toLowerCase();
    return (item) => columns.some((c) => c.text(item).toLowerCase().includes(wanted));
  }
  if (!found) return `'${text}' is no condition; write one such as ${columns[0]?.names[0] ?? 'ratio'} >= 1`;
  const [name, operator, wanted] = [squeezed(found[1] ?? ''), found[2] as Operator, squeezed(found[3] ?? '')];
  const column = columns.find((c) => c.names.some((n) => squeezed(n) === name));
  if (!column)
    return `no column is called '${found[1]?.trim()}'; there are ${columns.map((c) => c.names[0]).join(', ')}`;
  const value = parseQuantity(wanted, column.unit);
  if (value !== null)
    return (chip) => {
      const x = column.number(chip);
      return x !== null && compare(x, value, kCompare[operator]);
    };
  if (operator === '=') return (chip) => squeezed(column.text(chip)) === wanted;
  if (operator === '!=') return (chip) => squeezed(column.text(chip)) !== wanted;
  return `'${found[3]?.trim()}' is no number, and ${operator} compares numbers`;
}

/** What the line asks of a chip, or what is wrong with it. An empty line asks nothing. */
export function parseFilter(
  line: string,
  columns: readonly FilterColumn[],
  words = false,
): { test: Test } | { error: string } {
  const tests: Test[] = [];
  for (const part of line.split(/[,;]/).map((p) => p.trim()))
    if (part !== '') {
      const test = condition(part, columns, words);
      if (typeof test === 'string') return { error: test };
      tests.push(test);
    }
  return { test: (chip) => tests.every((t) => t(chip)) };
}
