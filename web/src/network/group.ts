// SPDX-License-Identifier: Apache-2.0
// The selected group: its nodes, what it reads and writes, what passes inside its kernels, and its times.

import { absent, h } from '../dom';
import { count, percent, quantity, time } from '../format';
import { signedPercent } from './columns';
import { kindOfNode, type Box, type Group, type Tensor } from './data';
import { nameOf, type NetworkState } from './state';

export function groupView(state: NetworkState): HTMLElement {
  const section = h('section', { id: 'group' });
  const tensors = new Map(state.report.network.tensors.map((t) => [t.tensor, t]));
  state.watch(['box', 'source'], () => {
    const i = state.get().box;
    section.replaceChildren(
      h('h2', {}, 'The selected group'),
      ...(i === null ? [absent('Select a box or a row.')] : contents(state, i, tensors)),
    );
  });
  return section;
}

function contents(state: NetworkState, i: number, tensors: ReadonlyMap<string, Tensor>): HTMLElement[] {
  const box = state.box(i);
  const g = box.first;
  const copies = box.groups.length;
  const note =
    copies > 1
      ? `One of ${copies} equal groups. Times are of all of them, tensors of the first.`
      : `Group ${box.groups[0]}.`;
  return [
    h('h3', {}, nameOf(g)),
    h('p', { className: 'note' }, note),
    facts(box, percent(state.share(i))),
    part('Nodes', nodes(g)),
    part('Reads', tensorList(g.reads, tensors)),
    part('Writes', tensorList(g.writes, tensors)),
    ...(g.passes.length > 0 ? [part('Between its stages', passes(g))] : []),
    part('Stages in index notation', h('pre', { className: 'command', tabIndex: 0 }, `${g.operator}\n${g.sizes}`)),
  ];
}

function part(name: string, body: HTMLElement): HTMLElement {
  return h('div', { className: 'part' }, h('h4', {}, name), body);
}

function facts(b: Box, share: string): HTMLElement {
  const known = (x: number | null, say: (x: number) => string) => (x === null ? '' : say(x));
  const error = b.predicted_us !== null && b.simulated_us ? b.predicted_us / b.simulated_us - 1 : null;
  const rows: [string, string][] = [
    ['predicted', known(b.predicted_us, time)],
    ['simulated', known(b.simulated_us, time)],
    ["model's error", known(error, signedPercent)],
    ['share', share],
    ['speed of light', known(b.speed_of_light_us, time)],
    ['bound by', b.bottleneck],
    ['top stall', b.stall],
    ['DRAM', known(b.dram_bytes, (x) => quantity(x, 'B'))],
    ['kernels', count(b.kernels, 'kernel')],
    ['program', b.first.program === undefined ? '' : `${b.first.program}.json`],
    ['no time', b.first.error ?? ''],
  ];
  const shown = rows.filter(([, text]) => text !== '');
  return h('dl', {}, ...shown.flatMap(([name, text]) => [h('dt', {}, name), h('dd', {}, text)]));
}

function nodes(g: Group): HTMLElement {
  const rows = g.nodes.map((name, n) => {
    const kernels = [...new Set(g.stages.filter((s) => s.node === n).map((s) => s.kernel))];
    const where = g.stages.length === 0 ? '' : kernels.length === 0 ? 'inlined' : `kernel ${kernels.join(', ')}`;
    return [kindOfNode(g, n), name, where];
  });
  return table(['kind', 'node', 'computed in'], rows);
}

function tensorList(names: readonly string[], tensors: ReadonlyMap<string, Tensor>): HTMLElement {
  const rows = names.map((name) => {
    const t = tensors.get(name);
    return t ? [name, t.role, `${t.dtype} ${t.shape}`, quantity(t.bytes, 'B')] : [name, '', '', ''];
  });
  return table(['tensor', 'is', 'of', 'bytes'], rows);
}

function passes(g: Group): HTMLElement {
  const stage = (s: number) => {
    const node = g.stages[s]?.node ?? -1;
    return `${kindOfNode(g, node)} (${g.stages[s]?.tensor ?? ''})`;
  };
  const rows = g.passes.map((p) => [p.tensor, stage(p.from), stage(p.to), p.level]);
  return table(['tensor', 'from', 'to', 'in'], rows);
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): HTMLElement {
  const cells = (row: readonly string[]) => row.map((text) => h('td', {}, text));
  return h(
    'div',
    { className: 'scroll' },
    h(
      'table',
      { className: 'list' },
      h('thead', {}, h('tr', {}, ...head.map((name) => h('th', { aria: { scope: 'col' } }, name)))),
      h('tbody', {}, ...rows.map((row) => h('tr', {}, ...cells(row)))),
    ),
  );
}
