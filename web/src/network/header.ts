// SPDX-License-Identifier: Apache-2.0
// What the network is, on which chip; the line that stays in sight; its totals beside those of every node alone and the
// roofline; its memory.

import { choice, h } from '../dom';
import { filterLine } from '../filter_line';
import { count, number, percent, quantity, ratio, time } from '../format';
import { networkColumns, signedPercent } from './columns';
import type { Total } from './data';
import { nameOf, type NetworkState } from './state';

export function headerView(state: NetworkState): HTMLElement {
  const { title, provenance, network: n } = state.report;
  const facts: [string, string][] = [
    [
      'sizes',
      Object.entries(n.sizes ?? {})
        .map(([name, value]) => `${name}=${value}`)
        .join(' '),
    ],
    ['element type', n.dtype ?? ''],
    ['chip', [n.arch, ...n.set.map((s) => `with ${s}`)].join(', ')],
    ...provenance,
    ['caches', n.sequence ? '' : 'every kernel meets cold ones: chips of this class have no sequence'],
    ['left out', n.opaque > 0 ? `${count(n.opaque, 'node')} without stages: they take part in no figure` : ''],
  ];
  const known = facts.filter(([, text]) => text !== '');
  return h(
    'header',
    {},
    h('h1', {}, n.set.length > 0 ? `${title}, changed` : title),
    h('p', { id: 'counts' }, sentence(state)),
    n.about !== undefined && h('p', { className: 'note' }, n.about),
    h(
      'details',
      { open: n.set.length > 0 },
      h('summary', {}, 'Its sizes, the chip, and where this comes from'),
      h('dl', {}, ...known.flatMap(([name, text]) => [h('dt', {}, name), h('dd', {}, text)])),
    ),
  );
}

/** The result in a sentence. */
export function sentence(state: NetworkState): string {
  const n = state.report.network;
  const { total, unfused } = n;
  const groups = `${count(total.groups, 'group')} of nodes, ${count(total.kernels, 'kernel')}.`;
  if (total.groups === 0) return 'Nothing runs: every node is another view of its input.';
  if (total.without_time === total.groups) return `${groups} None of them has a time: the table says why.`;
  const simulated = total.simulated_us === undefined ? '' : `, simulated ${time(total.simulated_us)}`;
  const longer = total.predicted_us > 0 ? ` (${ratio(unfused.predicted_us / total.predicted_us)} as long)` : '';
  const lacking = total.without_time > 0 ? ` ${total.without_time} of them without a time, which are in no sum.` : '';
  return (
    `Predicted ${time(total.predicted_us)}${simulated}; with every node alone ${time(unfused.predicted_us)}${longer}. ` +
    `${groups}${lacking} Host time is in no figure.`
  );
}

export function barView(state: NetworkState): HTMLElement {
  const all = state.picture.boxes.map((_, i) => i);
  const show = (shown: readonly number[]) => state.set({ shown });
  const line = filterLine('group', all, networkColumns(state), 'a text, share > 5 %, …', show, true);
  state.filter = line.write;
  const times = choice('times', state.sources, 0, (i) => {
    const source = state.sources[i];
    if (source) state.set({ source });
  });
  const selection = h('span', { id: 'selection', aria: { live: 'polite' } });
  state.watch(['box', 'source'], () => {
    const i = state.get().box;
    selection.replaceChildren();
    if (i === null) return;
    const clear = h('button', { type: 'button' }, 'clear');
    clear.addEventListener('click', () => state.set({ box: null }));
    const us = state.time(i);
    const text = [us === null ? 'no time' : time(us), percent(state.share(i))].filter((t) => t !== '').join(' · ');
    selection.append(h('strong', {}, nameOf(state.box(i).first)), ` ${text} `, clear);
  });
  const controls = h('span', { className: 'controls' }, state.sources.length > 1 && times);
  return h('div', { id: 'bar' }, line.host, controls, selection);
}

export function totalsView(state: NetworkState): HTMLElement {
  const n = state.report.network;
  const simulated = n.total.simulated_us !== undefined || n.unfused.simulated_us !== undefined;
  const head = ['', 'groups', 'kernels', 'predicted', 'to these groups', 'speed of light', 'DRAM', 'intermediate'];
  if (simulated) head.push('simulated', "model's error", 'simulated DRAM');
  const row = (name: string, t: Total) => [
    name,
    number(t.groups),
    number(t.kernels),
    time(t.predicted_us),
    ratio(n.total.predicted_us > 0 ? t.predicted_us / n.total.predicted_us : null),
    time(t.speed_of_light_us),
    quantity(t.dram_bytes, 'B'),
    quantity(t.intermediate_bytes, 'B'),
    ...(simulated ? simulatedCells(t) : []),
  ];
  const least = ['roofline of the whole network', '', '', time(n.speed_of_light_us)];
  least.push(ratio(n.total.predicted_us > 0 ? n.speed_of_light_us / n.total.predicted_us : null));
  const rows = [row('every node alone', n.unfused), row('these groups', n.total), least];
  const launches = `Launches are ${time(n.launch_us)} of it. The roofline of the whole network reads each weight and input once.`;
  return h(
    'section',
    { id: 'totals', className: 'wide' },
    h('h2', {}, 'Time'),
    h('div', { className: 'scroll' }, figures(head, rows)),
    h('p', { className: 'note' }, launches),
  );
}

function simulatedCells(t: Total): string[] {
  if (t.simulated_us === undefined) return ['', '', ''];
  const dram = t.simulated_dram_bytes;
  return [
    time(t.simulated_us),
    signedPercent(t.predicted_us / t.simulated_us - 1),
    dram === undefined ? '' : quantity(dram, 'B'),
  ];
}

function figures(head: readonly string[], rows: readonly string[][]): HTMLElement {
  const width = head.length;
  const cells = (row: readonly string[]) =>
    Array.from({ length: width }, (_, i) =>
      i === 0 ? h('th', { aria: { scope: 'row' } }, row[0] ?? '') : h('td', {}, row[i] ?? ''),
    );
  return h(
    'table',
    { className: 'figures totals' },
    h('thead', {}, h('tr', {}, ...head.map((name) => h('th', { aria: { scope: 'col' } }, name)))),
    h('tbody', {}, ...rows.map((row) => h('tr', {}, ...cells(row)))),
  );
}

export function memoryView(state: NetworkState): HTMLElement {
  const m = state.report.network.memory;
  const parts: [string, number, string][] = [
    ['constants', m.constant_bytes, 'weights above all'],
    ['inputs', m.input_bytes, ''],
    [
      'arena of other tensors',
      m.between_bytes,
      m.at === '' ? '' : `${quantity(m.live_bytes, 'B')} of it in use at once, at ${m.at}`,
    ],
  ];
  const share = (bytes: number) => `${(100 * bytes) / Math.max(m.capacity_bytes, m.bytes, 1)}%`;
  const bar = h(
    'div',
    { className: 'stack', aria: { hidden: 'true' } },
    ...parts.map(([, bytes], i) => h('i', { className: `part${i}`, style: { width: share(bytes) } })),
  );
  const rows = parts.map(([name, bytes, more], i) =>
    h(
      'tr',
      {},
      h('th', { aria: { scope: 'row' } }, h('span', { className: `swatch part${i}` }), name),
      h('td', {}, quantity(bytes, 'B')),
      h('td', { className: 'said' }, more),
    ),
  );
  const all = `${quantity(m.bytes, 'B')} of ${quantity(m.capacity_bytes, 'B')} of ${m.level}, ${percent(m.bytes / m.capacity_bytes)}`;
  return h(
    'section',
    { id: 'memory' },
    h('h2', {}, 'Memory'),
    h('p', {}, all),
    bar,
    h('table', { className: 'figures' }, h('tbody', {}, ...rows)),
  );
}
