// SPDX-License-Identifier: Apache-2.0
// How sure the time of a chip is: an 80 % interval, where the document has one.
// Ignores: that errors of operators cancel. The interval of a sum is the sum of intervals, which is too wide rather than
// too narrow.

import { rowOf, timesOf, type Report } from './data';
import type { State } from './state';

export interface Band {
  low: number;
  high: number;
}

/** Of the time that is looked at; null where the chip has none. */
export function bandOf(state: State, chip: number): Band | null {
  const { operator, network, source } = state.get();
  const e = state.report.multi_fidelity;
  if (e && operator === null && network === null && source !== 'measured') {
    const [low, high] = [e.chips.low_us[chip], e.chips.high_us[chip]];
    return typeof low === 'number' && typeof high === 'number' ? { low, high } : null;
  }
  if (source !== 'predicted') return null;
  const mine = operator !== null ? [operator] : (state.report.networks[network ?? -1]?.operators ?? null);
  return sumOf(state.report, chip, mine ?? state.report.operators.id.map((_, i) => i), operator === null);
}

function sumOf(r: Report, chip: number, operators: readonly number[], weighted: boolean): Band | null {
  const { band } = r.rows;
  const times = timesOf(r.rows, 'predicted');
  const sum: Band = { low: 0, high: 0 };
  for (const operator of operators) {
    const row = rowOf(r, chip, operator);
    const [us, code] = [times?.[row], band.codes[row]];
    const [low, high] = [band.low_ratio[code ?? -1], band.high_ratio[code ?? -1]];
    if (us === null || us === undefined || low === undefined || high === undefined) return null;
    const all = us * (weighted ? (r.operators.weight[operator] ?? 1) : 1);
    sum.low += all * low;
    sum.high += all * high;
  }
  return operators.length > 0 ? sum : null;
}

/** How the first stands to the other; nothing where one of them has no band. */
export function apart(a: Band | null, b: Band | null): 'below' | 'above' | 'within' | null {
  if (!a || !b) return null;
  return a.high < b.low ? 'below' : b.high < a.low ? 'above' : 'within';
}
