// SPDX-License-Identifier: Apache-2.0
// What the reader has chosen as a part of the page's address, `#chip=17&filter=area <= 600 mm2&x=area`, so that it
// outlives a reload and can be sent. Names stand for what is chosen, since another page of the same sweep may number it
// otherwise; what is as the page opens is left out.

import type { Choice, State } from './state';

const kNone = 'none'; // no chip is selected

/** Of a text in an address what makes it hard to read or ends it early is coded, and no more. */
const coded = (text: string): string => encodeURIComponent(text).replace(/%(2C|2F|3A|3D|24|7C)/g, decodeURIComponent);

export function addressOf(state: State, start: Readonly<Choice>): string {
  const now = state.get();
  const r = state.report;
  const measure = (i: number) => state.measures[i]?.name ?? '';
  const way = (more: boolean) => (more ? 'more' : 'less');
  const parts: [string, string | undefined][] = [
    ['chip', now.chip === null ? kNone : String(now.chip)],
    ['filter', now.line === '' ? undefined : now.line],
    ['x', now.x === start.x ? undefined : measure(now.x)],
    ['y', now.y === start.y ? undefined : measure(now.y)],
    ['x_better', isUsual(state, now.x, now.xMore) ? undefined : way(now.xMore)],
    ['y_better', isUsual(state, now.y, now.yMore) ? undefined : way(now.yMore)],
    ['times', now.source === start.source ? undefined : now.source],
    ['operator', now.operator === null ? undefined : r.operators.id[now.operator]],
    ['network', now.network === null ? undefined : r.networks[now.network]?.name],
  ];
  const said = parts.filter((p): p is [string, string] => p[1] !== undefined);
  return `#${[...said, ...state.chosenLooks()].map(([key, text]) => `${coded(key)}=${coded(text)}`).join('&')}`;
}

/** Of what all views see; other keys are those of single views. */
const kKeys = new Set(['', 'chip', 'filter', 'x', 'y', 'x_better', 'y_better', 'times', 'operator', 'network']);

const isUsual = (state: State, i: number, more: boolean): boolean => (state.measures[i]?.better === 'more') === more;

/** What the address says to choose; what it does not name is as the page opens, what is not in this page is left out. */
export function choiceOf(state: State, start: Readonly<Choice>, hash: string): Partial<Choice> {
  const said = new Map(
    hash
      .replace(/^#/, '')
      .split('&')
      .map((part): [string, string] => {
        const [key = '', ...rest] = part.split('=');
        return [decoded(key), decoded(rest.join('='))];
      }),
  );
  const r = state.report;
  const find = (names: readonly string[], key: string) => {
    const i = names.indexOf(said.get(key) ?? '');
    return i < 0 ? null : i;
  };
  const measures = state.measures.map((m) => m.name);
  const x = find(measures, 'x') ?? start.x;
  const y = find(measures, 'y') ?? start.y;
  const more = (i: number, key: string) => (said.get(key) ?? state.measures[i]?.better) === 'more';
  const operator = find(r.operators.id, 'operator');
  const source = r.chips.totals.find((t) => t.source === said.get('times'))?.source;
  return {
    looks: Object.fromEntries([...said].filter(([key]) => !kKeys.has(key))),
    chip: chipOf(said.get('chip'), r.counts.chips) ?? (said.get('chip') === kNone ? null : start.chip),
    line: said.get('filter') ?? '',
    x,
    y,
    xMore: more(x, 'x_better'),
    yMore: more(y, 'y_better'),
    source: source ?? start.source,
    operator,
    network:
      operator === null
        ? find(
            r.networks.map((n) => n.name),
            'network',
          )
        : null,
  };
}

function chipOf(text: string | undefined, chips: number): number | null {
  const chip = /^\d+$/.test(text ?? '') ? Number(text) : -1;
  return chip >= 0 && chip < chips ? chip : null;
}

/** Links go through programs that write a space as a plus or cut them: what cannot be read is taken as it stands. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return text;
  }
}

const kWindow_ms = 10_000;
const kAtOnce = 20;
const kLater_ms = 1000;

/**
 * Writes at once, but for one who drags: browsers drop what is written to the address more than some 100 times in half a
 * minute, so after the first of a window the newest is written a second later.
 */
export function sparingly(write: () => void): () => void {
  let [start, count] = [-Infinity, 0];
  let later: ReturnType<typeof setTimeout> | undefined;
  return () => {
    clearTimeout(later);
    const now = Date.now();
    if (now - start > kWindow_ms) [start, count] = [now, 0];
    if (++count <= kAtOnce) write();
    else later = setTimeout(write, kLater_ms);
  };
}
