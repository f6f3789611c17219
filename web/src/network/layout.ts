// SPDX-License-Identifier: Apache-2.0
// Where the boxes of a network's picture are, in pixels: each below all that it reads, in the nearest free column.

import { insidePasses, kindOfNode, type Box, type Group, type Picture } from './data';

/** A node of a group that several nodes or stages share. */
export interface Line {
  text: string;
  name: string;
  levels: string; // that hold what it passes on within its kernel
  kernel: number | null; // null: it is inlined into its readers
}

/** A tensor that passes from one line to a later one within a kernel. */
export interface Arc {
  from: number;
  to: number;
  level: string;
}

export interface Placed {
  x: number;
  y: number;
  height: number;
  lines: Line[];
  more: number; // nodes that have no line
  arcs: Arc[];
}

export interface Frame {
  x: number;
  y: number;
  width: number;
  height: number;
  times: number;
}

export interface Edge {
  from: number; // boxes
  to: number;
  path: string;
  tensors: string[];
}

export interface Layout {
  width: number;
  height: number;
  boxes: Placed[];
  frames: Frame[];
  edges: Edge[];
}

export const kWidth = 250;
export const kHead = 40; // the height of a box without lines
export const kLine = 17;
const kMostLines = 9;
const kColumn = kWidth + 40;
const kGap = 30;
const kLanes = 5;
const kMargin = 26;
const kBadge = 60; // beside the last column: "x 12"

/** The nodes of a group, and what passes between them. A group of one stage has none to show. */
export function linesOf(g: Group): { lines: Line[]; more: number; arcs: Arc[] } {
  if (g.nodes.length === 1 && g.stages.length <= 1) return { lines: [], more: 0, arcs: [] };
  const inside = insidePasses(g);
  const all = g.nodes.map((name, node): Line => {
    const stages = g.stages.map((_, s) => s).filter((s) => g.stages[s]?.node === node);
    const levels = new Set(inside.filter((p) => stages.includes(p.from)).map((p) => p.level));
    const last = g.stages[stages.at(-1) ?? -1];
    return {
      text: kindOfNode(g, node),
      name,
      levels: [...levels].join(', '),
      kernel: last === undefined ? null : last.kernel,
    };
  });
  const lines = all.length > kMostLines ? all.slice(0, kMostLines - 1) : all;
  const arcs: Arc[] = [];
  for (const p of inside) {
    const [from, to] = [g.stages[p.from]?.node ?? -1, g.stages[p.to]?.node ?? -1];
    const known = arcs.some((a) => a.from === from && a.to === to && a.level === p.level);
    if (from < to && to < lines.length && !known) arcs.push({ from, to, level: p.level });
  }
  return { lines, more: all.length - lines.length, arcs };
}

export function layoutOf(picture: Picture): Layout {
  const layers = layersOf(picture.boxes);
  const columns = columnsOf(picture.boxes, layers);
  const parts = picture.boxes.map((b) => linesOf(b.first));
  const heights = parts.map((p) => kHead + kLine * (p.lines.length + (p.more > 0 ? 1 : 0)) + (p.lines.length ? 5 : 0));
  const tops: number[] = [];
  let y = kMargin;
  for (let layer = 0; layer <= Math.max(-1, ...layers); ++layer) {
    tops.push(y);
    y += Math.max(0, ...heights.filter((_, i) => layers[i] === layer)) + kGap;
  }
  const boxes = parts.map((p, i): Placed => {
    const x = kMargin + kColumn * (columns[i] as number);
    return { x, y: tops[layers[i] as number] as number, height: heights[i] as number, ...p };
  });
  const width = 2 * kMargin + kColumn * Math.max(0, ...columns) + kWidth + kBadge;
  return { width, height: y - kGap + kMargin, boxes, frames: framesOf(picture, boxes), edges: edgesOf(picture, boxes) };
}

function layersOf(boxes: readonly Box[]): number[] {
  const out: number[] = [];
  for (const b of boxes) out.push(Math.max(-1, ...b.from.map((l) => out[l.box] ?? -1)) + 1);
  return out;
}

function columnsOf(boxes: readonly Box[], layers: readonly number[]): number[] {
  const taken = new Set<string>();
  const out: number[] = [];
  boxes.forEach((b, i) => {
    const nearest = b.from.reduce((best, l) => ((layers[l.box] ?? 0) > (layers[best] ?? -1) ? l.box : best), -1);
    const wanted = out[nearest] ?? 0;
    let column = wanted;
    for (let step = 1; taken.has(`${layers[i]} ${column}`); ++step)
      column = taken.has(`${layers[i]} ${wanted + step}`) ? Math.max(0, wanted - step) : wanted + step;
    taken.add(`${layers[i]} ${column}`);
    out.push(column);
  });
  return out;
}

function framesOf(picture: Picture, boxes: readonly Placed[]): Frame[] {
  return picture.runs.map((r) => {
    const mine = boxes.slice(r.first, r.last + 1);
    const [x, y] = [Math.min(...mine.map((b) => b.x)) - 9, Math.min(...mine.map((b) => b.y)) - 9];
    return {
      x,
      y,
      width: Math.max(...mine.map((b) => b.x)) + kWidth + 9 - x,
      height: Math.max(...mine.map((b) => b.y + b.height)) + 9 - y,
      times: r.times,
    };
  });
}

function edgesOf(picture: Picture, boxes: readonly Placed[]): Edge[] {
  let edges = 0;
  return picture.boxes.flatMap((b, to) =>
    b.from.map((l): Edge => {
      const path = pathOf(boxes, l.box, to, ++edges % kLanes);
      return { from: l.box, to, path, tensors: l.tensors };
    }),
  );
}

/** From the bottom of one box to the top of another; past boxes between them it takes one of the lanes at their side. */
function pathOf(boxes: readonly Placed[], from: number, to: number, lane: number): string {
  const [a, b] = [boxes[from] as Placed, boxes[to] as Placed];
  const [x1, y1, x2, y2] = [a.x + kWidth / 2, a.y + a.height, b.x + kWidth / 2, b.y];
  const isFree = (x: number) => !boxes.some((c) => c.x === x && c.y > a.y && c.y < b.y);
  if (isFree(a.x)) {
    const turn = Math.max(y1, y2 - kGap); // down in the column of the first, then over
    return `M${x1} ${y1}L${x1} ${turn}C${x1} ${turn + 18} ${x2} ${y2 - 18} ${x2} ${y2}`;
  }
  if (isFree(b.x)) {
    const turn = Math.min(y2, y1 + kGap);
    return `M${x1} ${y1}C${x1} ${y1 + 18} ${x2} ${turn - 18} ${x2} ${turn}L${x2} ${y2}`;
  }
  const side = Math.min(x1, x2) - kWidth / 2 - 6 - 4 * lane;
  return (
    `M${x1 - 60} ${y1}C${x1 - 60} ${y1 + 14} ${side} ${y1} ${side} ${y1 + 24}` +
    `L${side} ${y2 - 24}C${side} ${y2} ${x2 - 60} ${y2 - 14} ${x2 - 60} ${y2}`
  );
}
