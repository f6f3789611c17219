// SPDX-License-Identifier: Apache-2.0
// One lane of parallel coordinates: its name, its marks, and a range with two ends that pointer and keyboard move.

import { h } from '../dom';
import type { Lane } from '../lanes';

export interface Brush {
  host: HTMLElement;
  /** Shows the range from place to place. */
  place: (low: number, high: number) => void;
}

const kClick_px = 4; // a pointer that moves less has clicked
const kSteps = 50; // of the keyboard along a lane that has all places
const kPage = 10;

/** `set` hears the range while it is dragged where `live`, else when the pointer is lifted. */
export function brushOf(lane: Lane, upright: boolean, live: boolean, set: (low: number, high: number) => void): Brush {
  let range: [number, number] = [0, 1];
  const span = h('div', { className: 'span' });
  const ends = ([0, 1] as const).map((which) =>
    h('div', {
      className: which === 0 ? 'end low' : 'end high',
      tabIndex: lane.conditions ? 0 : -1,
      aria: {
        role: 'slider',
        label: `${which === 0 ? 'least' : 'most'} ${lane.name}`,
        orientation: upright ? 'vertical' : 'horizontal',
        valuemin: '0',
        valuemax: '100',
      },
    }),
  );
  const places = h('div', { className: 'range' }, span, ...ends);
  const track = h('div', { className: 'track', title: `drag for a range of ${lane.name}` }, places);
  const side = upright ? 'bottom' : 'left';
  const marks = [
    ...lane.marks.map((m) => markOf(m.at, m.text, '', side)),
    ...lane.budgets.map((m) => markOf(m.at, m.text, 'budget', side)),
  ];
  const host = h(
    'div',
    { className: 'lane', data: { lane: lane.name } },
    h('div', { className: 'name', title: lane.name }, lane.name),
    track,
    ...marks,
  );

  const show = () => {
    const [low, high] = range;
    span.style.setProperty(side, `${100 * low}%`);
    span.style.setProperty(upright ? 'height' : 'width', `${100 * (high - low)}%`);
    host.classList.toggle('brushed', low > 0 || high < 1);
    ends.forEach((end, which) => {
      const at = range[which] as number;
      end.style.setProperty(side, `${100 * at}%`);
      end.setAttribute('aria-valuenow', String(Math.round(100 * at)));
      end.setAttribute('aria-valuetext', lane.textAt(at));
    });
  };
  const move = (low: number, high: number, apply: boolean) => {
    range = [snapped(lane, Math.min(low, high)), snapped(lane, Math.max(low, high))];
    show();
    if (apply) set(...range);
  };
  if (lane.conditions) {
    drag(track, places, upright, live, () => range, ends, move);
    ends.forEach((end, which) => end.addEventListener('keydown', (event) => step(event, lane, which, range, move)));
  } else track.title = 'the filter line has no words for these values';
  show();
  return {
    host,
    place: (low, high) => {
      range = [low, high];
      show();
    },
  };
}

function markOf(at: number, text: string, more: string, side: string): HTMLElement {
  const mark = h('div', { className: `mark ${more}` }, h('span', {}, text));
  mark.style.setProperty(side, `${100 * at}%`);
  return mark;
}

function snapped(lane: Lane, place: number): number {
  const p = Math.min(1, Math.max(0, place));
  if (!lane.stops) return p;
  return lane.stops.reduce((best, s) => (Math.abs(s - p) < Math.abs(best - p) ? s : best), lane.stops[0] ?? 0);
}

type Move = (low: number, high: number, apply: boolean) => void;

/** A drag from an end moves that end, one from elsewhere draws a new range; a click there clears it. */
function drag(
  track: HTMLElement,
  places: HTMLElement,
  upright: boolean,
  live: boolean,
  rangeNow: () => [number, number],
  ends: readonly HTMLElement[],
  move: Move,
): void {
  const placeOf = (event: PointerEvent) => {
    const box = places.getBoundingClientRect();
    return upright ? (box.bottom - event.clientY) / box.height : (event.clientX - box.left) / box.width;
  };
  track.addEventListener('pointerdown', (event) => {
    if (event.button !== 0) return;
    event.preventDefault();
    const which = ends.indexOf(event.target as HTMLElement);
    const before = rangeNow();
    const fixed = which < 0 ? placeOf(event) : (before[1 - which] as number);
    const start = upright ? event.clientY : event.clientX;
    let moved = false;
    if (which >= 0) ends[which]?.focus();
    track.setPointerCapture(event.pointerId);
    const follow = (e: PointerEvent) => {
      moved ||= Math.abs((upright ? e.clientY : e.clientX) - start) >= kClick_px;
      if (moved) move(fixed, placeOf(e), live);
    };
    const lift = (e: PointerEvent) => {
      track.removeEventListener('pointermove', follow);
      track.removeEventListener('pointerup', lift);
      track.removeEventListener('pointercancel', lift);
      if (e.type === 'pointercancel') move(...before, true);
      else if (moved) move(fixed, placeOf(e), true);
      else if (which < 0) move(0, 1, true);
    };
    track.addEventListener('pointermove', follow);
    track.addEventListener('pointerup', lift);
    track.addEventListener('pointercancel', lift);
  });
}

function step(event: KeyboardEvent, lane: Lane, which: number, range: [number, number], move: Move): void {
  const one = lane.stops ? 1 / Math.max(1, lane.stops.length - 1) : 1 / kSteps;
  const by: Record<string, number> = {
    ArrowUp: one,
    ArrowRight: one,
    ArrowDown: -one,
    ArrowLeft: -one,
    PageUp: kPage * one,
    PageDown: -kPage * one,
    Home: -1,
    End: 1,
  };
  const clear = ['Escape', 'Delete', 'Backspace'].includes(event.key);
  const change = by[event.key];
  if (!clear && change === undefined) return;
  event.preventDefault();
  if (clear) return move(0, 1, true);
  const [low, high] = range;
  const moved = Math.min(1, Math.max(0, (range[which] as number) + (change ?? 0)));
  // An end stops at the other one.
  if (which === 0) move(Math.min(moved, high), high, true);
  else move(low, Math.max(moved, low), true);
}
