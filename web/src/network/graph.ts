// SPDX-License-Identifier: Apache-2.0
// The network drawn: a box for each group, coloured by its share of the time, equal runs once with their count, and in a
// box its nodes with the memory levels in which tensors pass between them.

import { onThemeChange, shareColour, termColour, theme } from '../colour';
import { absent, h } from '../dom';
import { percent, quantity, time } from '../format';
import { kindsText, type Tensor } from './data';
import { kHead, kLine, kWidth, layoutOf, type Layout, type Placed } from './layout';
import { nameOf, type NetworkState } from './state';

const kSvg = 'http://www.w3.org/2000/svg';

function svg(tag: string, attributes: Record<string, string | number>, ...children: (Node | string)[]): SVGElement {
  const element = document.createElementNS(kSvg, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  element.append(...children);
  return element;
}

export function graphView(state: NetworkState): HTMLElement {
  const section = h('section', { id: 'graph' }, h('h2', {}, 'The network, group by group'));
  if (state.picture.boxes.length === 0) {
    section.append(absent('There are no groups to draw.'));
    return section;
  }
  const layout = layoutOf(state.picture);
  const tensors = new Map(state.report.network.tensors.map((t) => [t.tensor, t]));
  const boxes = state.picture.boxes.map((_, i) => boxOf(state, i, layout.boxes[i] as Placed));
  const edges = edgesOf(layout, tensors);
  const below = edgesPicture(layout, [...edges, ...bytesWritten(state, layout, tensors)]);
  const drawing = h('div', { className: 'drawing' }, below, ...boxes, arcsPicture(layout));
  drawing.style.width = `${layout.width}px`;
  drawing.style.height = `${layout.height}px`;
  const scroll = h('div', { className: 'scroll graph' }, drawing);
  section.append(legend(state), scroll, note(state));
  const paint = () => boxes.forEach((box, i) => paintBox(state, box, i));
  state.watch(['source'], paint);
  onThemeChange(paint);
  state.watch(['box'], () => {
    const chosen = state.get().box;
    boxes.forEach((box, i) => {
      box.setAttribute('aria-pressed', String(i === chosen));
      box.classList.toggle('selected', i === chosen);
      box.tabIndex = i === (chosen ?? 0) ? 0 : -1;
    });
    layout.edges.forEach((e, i) =>
      edges[i]?.classList.toggle('selected', chosen !== null && (e.from === chosen || e.to === chosen)),
    );
    if (chosen !== null) bringIntoSight(scroll, layout.boxes[chosen] as Placed);
  });
  requestAnimationFrame(() => {
    const { box } = state.get(); // that of the address: only now the drawing has a size
    if (box !== null) bringIntoSight(scroll, layout.boxes[box] as Placed);
  });
  state.watch(['shown'], () => {
    const shown = new Set(state.get().shown);
    boxes.forEach((box, i) => box.classList.toggle('out', !shown.has(i)));
  });
  drawing.addEventListener('keydown', (event) => {
    const to = stepFrom(state, event.key);
    if (to === null) return;
    event.preventDefault();
    state.set({ box: to });
    boxes[to]?.focus({ preventScroll: true });
  });
  return section;
}

/** The box that an arrow key goes to: the next one shown, or the one before. */
function stepFrom(state: NetworkState, key: string): number | null {
  const { box, shown } = state.get();
  const at = shown.indexOf(box ?? -1);
  if (key === 'ArrowDown' || key === 'ArrowRight') return shown[Math.min(at + 1, shown.length - 1)] ?? null;
  if (key === 'ArrowUp' || key === 'ArrowLeft') return shown[Math.max(at - 1, 0)] ?? null;
  if (key === 'Home') return shown[0] ?? null;
  return key === 'End' ? (shown.at(-1) ?? null) : null;
}

function boxOf(state: NetworkState, i: number, placed: Placed): HTMLButtonElement {
  const { first, groups } = state.box(i);
  const copies = groups.length > 1 ? ` × ${groups.length}` : '';
  const kinds = h('strong', {}, kindsText(first), copies);
  const lines = placed.lines.map((l, n) =>
    h(
      'span',
      { className: n > 0 && l.kernel !== placed.lines[n - 1]?.kernel && l.kernel !== null ? 'line apart' : 'line' },
      h('span', { title: l.name }, l.text),
      h('em', {}, l.kernel === null ? 'inlined' : l.levels),
    ),
  );
  const box = h(
    'button',
    { type: 'button', className: 'box', data: { box: String(i) } },
    h('span', { className: 'line' }, kinds, h('b', { className: 'share' })),
    h('span', { className: 'line' }, h('span', { className: 'name' }, nameOf(first)), h('span', { className: 'us' })),
    ...lines,
    placed.more > 0 && h('span', { className: 'line' }, h('em', {}, `and ${placed.more} more nodes`)),
  );
  const { style } = box;
  [style.left, style.top] = [`${placed.x}px`, `${placed.y}px`];
  [style.width, style.height] = [`${kWidth}px`, `${placed.height}px`];
  box.addEventListener('click', () => state.set({ box: i }));
  return box;
}

function paintBox(state: NetworkState, box: HTMLButtonElement, i: number): void {
  const { dark } = theme();
  const most = Math.max(...state.picture.boxes.map((_, b) => state.share(b) ?? 0), 1e-9);
  const share = state.share(i);
  const { fill, ink } = shareColour((share ?? 0) / most, dark);
  const { predicted_us, simulated_us, bottleneck, first } = state.box(i);
  const times = [predicted_us, simulated_us].filter((us) => us !== null).map((us) => time(us));
  box.style.background = fill;
  box.style.color = ink;
  box.style.borderLeftColor = bottleneck === '' ? 'transparent' : termColour(bottleneck);
  (box.querySelector('.share') as HTMLElement).textContent = percent(share);
  (box.querySelector('.us') as HTMLElement).textContent = times.length > 0 ? times.join(' | ') : 'no time';
  box.title = [
    nameOf(first),
    bottleneck === '' ? (first.error ?? '') : `bound by ${bottleneck}`,
    times.length > 1 ? 'predicted | simulated' : '',
  ]
    .filter((t) => t !== '')
    .join('\n');
}

function edgesOf(layout: Layout, tensors: ReadonlyMap<string, Tensor>): SVGElement[] {
  return layout.edges.map((e) => {
    const said = e.tensors.map((name) => {
      const t = tensors.get(name);
      return t ? `${name}: ${t.dtype} ${t.shape}, ${quantity(t.bytes, 'B')}` : name;
    });
    return svg('path', { d: e.path, class: 'edge' }, svg('title', {}, said.join('\n')));
  });
}

/** Below every box the bytes that it leaves in memory. */
function bytesWritten(state: NetworkState, layout: Layout, tensors: ReadonlyMap<string, Tensor>): SVGElement[] {
  return layout.boxes.map((b, i) => {
    const bytes = state.box(i).first.writes.reduce((sum, name) => sum + (tensors.get(name)?.bytes ?? 0), 0);
    const at = { x: b.x + kWidth / 2 + 5, y: b.y + b.height + 12, class: 'bytes' };
    return svg('text', at, bytes > 0 ? quantity(bytes, 'B') : '');
  });
}

function edgesPicture(layout: Layout, edges: SVGElement[]): SVGElement {
  const frames = layout.frames.flatMap((f) => [
    svg('rect', { x: f.x, y: f.y, width: f.width, height: f.height, rx: 6, class: 'run' }),
    svg('text', { x: f.x + f.width + 8, y: f.y + 16, class: 'times' }, `× ${f.times}`),
  ]);
  return svg('svg', { width: layout.width, height: layout.height, 'aria-hidden': 'true' }, ...frames, ...edges);
}

/** Above the boxes: arcs from node to node within a kernel. */
function arcsPicture(layout: Layout): SVGElement {
  const arcs = layout.boxes.flatMap((b) =>
    b.arcs.map((a) => {
      const x = b.x + kWidth - 22;
      const [y1, y2] = [a.from, a.to].map((n) => b.y + kHead + kLine * (n + 0.5)) as [number, number];
      const bow = Math.min(16, 5 + 3 * (a.to - a.from));
      const d = `M${x} ${y1}C${x + bow} ${y1} ${x + bow} ${y2} ${x} ${y2}`;
      return svg('path', { d, class: 'arc', stroke: termColour(a.level) });
    }),
  );
  return svg('svg', { width: layout.width, height: layout.height, class: 'above', 'aria-hidden': 'true' }, ...arcs);
}

function bringIntoSight(scroll: HTMLElement, b: Placed): void {
  const margin = 24;
  const { scrollTop, scrollLeft, clientHeight, clientWidth } = scroll;
  if (b.y < scrollTop + margin) scroll.scrollTop = b.y - margin;
  else if (b.y + b.height > scrollTop + clientHeight - margin)
    scroll.scrollTop = Math.min(b.y - margin, b.y + b.height + margin - clientHeight);
  if (b.x < scrollLeft) scroll.scrollLeft = b.x - margin;
  else if (b.x + kWidth > scrollLeft + clientWidth) scroll.scrollLeft = b.x + kWidth + margin - clientWidth;
}

function legend(state: NetworkState): HTMLElement {
  const levels = new Set(state.picture.boxes.flatMap((_, i) => layoutLevels(state, i)));
  const terms = new Set(state.picture.boxes.map((b) => b.bottleneck).filter((t) => t !== ''));
  const swatch = (name: string, className: string) =>
    h(
      'span',
      { className: 'key' },
      h('span', { className, style: { background: termColour(name), color: termColour(name) } }),
      name,
    );
  return h(
    'p',
    { className: 'note keys' },
    terms.size > 0 && 'bound by ',
    ...[...terms].map((t) => swatch(t, 'swatch')),
    levels.size > 0 && 'tensors inside a kernel pass in ',
    ...[...levels].map((l) => swatch(l, 'swatch bowed')),
  );
}

function layoutLevels(state: NetworkState, i: number): string[] {
  const g = state.box(i).first;
  return g.passes.filter((p) => g.stages[p.from]?.kernel === g.stages[p.to]?.kernel).map((p) => p.level);
}

function note(state: NetworkState): HTMLElement {
  const groups = state.report.network.groups.length;
  const boxes = state.picture.boxes.length;
  const folded = boxes < groups ? ` ${boxes} boxes stand for ${groups} groups: equal runs are drawn once.` : '';
  return h(
    'p',
    { className: 'note' },
    `A box is a group of nodes that are compiled together; the fuller its colour, the larger its share of the time.${folded} ` +
      'Lines between boxes are tensors in memory, with the bytes that a box leaves there. Arrow keys go from box to box.',
  );
}
