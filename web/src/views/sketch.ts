// SPDX-License-Identifier: Apache-2.0
// Tiles drawn to one scale: the block tile of the last two spatial axes with a thread's tile in its corner.

import { h } from '../dom';

export interface Sketched {
  name: string;
  tile: (field: 'axes' | 'block tile' | 'thread tile') => string; // "m x n x k", "64x128x16", "8x8"
}

interface Plane {
  down: number;
  across: number;
  threadDown: number;
  threadAcross: number;
  label: string;
}

const extents = (text: string): number[] => text.split('x').map(Number);

/** The last two spatial axes of a tile; a thread's tile has spatial axes alone. Null where there is nothing to draw. */
export function planeOf({ tile }: Sketched): Plane | null {
  const stages = (['axes', 'block tile', 'thread tile'] as const).map((field) => tile(field).split('; ')[0] ?? '');
  const [axes, block, thread] = [(stages[0] ?? '').split(' x '), extents(stages[1] ?? ''), extents(stages[2] ?? '')];
  const n = thread.length;
  const across = n - 1;
  const parts = [block[across], thread[across], n > 1 ? block[n - 2] : 1, n > 1 ? thread[n - 2] : 1];
  if (parts.some((p) => p === undefined || !(p > 0))) return null;
  const [a, ta, d, td] = parts as [number, number, number, number];
  const label = n > 1 ? `${axes[n - 2] ?? ''} ${d} x ${axes[across] ?? ''} ${a}` : `${axes[across] ?? ''} ${a}`;
  return { down: d, across: a, threadDown: td, threadAcross: ta, label };
}

const kSide = 110;

export function tileSketch(tiles: Sketched[]): HTMLElement {
  const planes = tiles.map(planeOf);
  const most = Math.max(1, ...planes.map((p) => (p ? Math.max(p.down, p.across) : 0)));
  const least = Math.min(...planes.map((p) => (p ? Math.min(p.down, p.across) : most)));
  const figure = h('div', { className: 'sketch' });
  if (most / least > 64) return figure;
  const scale = kSide / most;
  tiles.forEach((tile, i) => {
    const p = planes[i];
    if (!p) return;
    const px = (n: number) => `${Math.max(1, n * scale)}px`;
    const thread = h('div', { className: 'thread', style: { width: px(p.threadAcross), height: px(p.threadDown) } });
    const block = h('div', { className: 'block', style: { width: px(p.across), height: px(p.down) } }, thread);
    figure.append(h('figure', {}, block, h('figcaption', {}, `${tile.name}: ${p.label}`)));
  });
  return figure;
}
