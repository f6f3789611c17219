// SPDX-License-Identifier: Apache-2.0
// The lines of parallel coordinates on a canvas. Between two lanes many chips share a line, so each is drawn once, the
// darker the more chips it stands for.

import type { Theme } from '../colour';
import type { Lane } from '../lanes';

/** Where lanes are: upright ones from left to right, or lying ones from top to bottom. */
export interface Frame {
  width: number;
  height: number;
  upright: boolean;
}

const kSteps = 150; // along a lane
const kUnknown = -1;

/** Of every chip, its step on the lane. */
export type Steps = Int16Array;

export function stepsOf(lane: Lane): Steps {
  return Int16Array.from(lane.of, (at) => (at === null ? kUnknown : Math.round(at * kSteps)));
}

type Point = [number, number];

export function pointOf(frame: Frame, lane: number, lanes: number, at: number): Point {
  const along = lanes > 1 ? lane / (lanes - 1) : 0.5;
  return frame.upright ? [along * frame.width, (1 - at) * frame.height] : [at * frame.width, along * frame.height];
}

/** The chips as lines of one colour. */
export function drawMany(
  paint: CanvasRenderingContext2D,
  frame: Frame,
  steps: readonly Steps[],
  chips: readonly number[],
  colour: string,
): void {
  paint.strokeStyle = colour;
  paint.lineWidth = 1;
  const counts = new Int32Array((kSteps + 1) ** 2);
  for (let lane = 0; lane + 1 < steps.length; ++lane) {
    const [from, to] = [steps[lane] as Steps, steps[lane + 1] as Steps];
    const pairs: number[] = [];
    for (const chip of chips) {
      const [a, b] = [from[chip] ?? kUnknown, to[chip] ?? kUnknown];
      if (a === kUnknown || b === kUnknown) continue;
      const pair = a * (kSteps + 1) + b;
      if (counts[pair] === 0) pairs.push(pair);
      counts[pair] = (counts[pair] as number) + 1;
    }
    const alphaOf = alphas(pairs.length);
    for (const pair of pairs) {
      const start = pointOf(frame, lane, steps.length, Math.floor(pair / (kSteps + 1)) / kSteps);
      const end = pointOf(frame, lane + 1, steps.length, (pair % (kSteps + 1)) / kSteps);
      paint.globalAlpha = alphaOf(counts[pair] as number);
      paint.beginPath();
      paint.moveTo(...start);
      paint.lineTo(...end);
      paint.stroke();
      counts[pair] = 0;
    }
  }
  paint.globalAlpha = 1;
}

/** Many lines are fainter, so that where they meet is seen. */
function alphas(lines: number): (chips: number) => number {
  const least = Math.min(0.6, Math.max(0.05, 12 / Math.sqrt(lines + 1) / 6));
  return (chips) => Math.min(0.9, least * (1 + 0.35 * Math.log2(chips)));
}

/** One chip, with a dot on every lane. */
export function drawOne(
  paint: CanvasRenderingContext2D,
  frame: Frame,
  lanes: readonly Lane[],
  chip: number,
  colour: string,
  dashed: boolean,
): void {
  paint.strokeStyle = paint.fillStyle = colour;
  paint.lineWidth = dashed ? 1.6 : 2.4;
  paint.setLineDash(dashed ? [5, 4] : []);
  paint.beginPath();
  let open = false;
  const dots: Point[] = [];
  lanes.forEach((lane, i) => {
    const at = lane.of[chip];
    if (at === null || at === undefined) {
      open = false;
      return;
    }
    const point = pointOf(frame, i, lanes.length, at);
    dots.push(point);
    if (open) paint.lineTo(...point);
    else paint.moveTo(...point);
    open = true;
  });
  paint.stroke();
  paint.setLineDash([]);
  for (const [x, y] of dots) {
    paint.beginPath();
    paint.arc(x, y, 3.5, 0, 2 * Math.PI);
    paint.fill();
  }
}

/** A canvas as large as its place, sharp on any screen. */
export function fitted(canvas: HTMLCanvasElement, frame: Frame): CanvasRenderingContext2D | null {
  const scale = devicePixelRatio || 1;
  canvas.width = Math.round(frame.width * scale);
  canvas.height = Math.round(frame.height * scale);
  const paint = canvas.getContext('2d');
  paint?.scale(scale, scale);
  return paint;
}

/** Colours of chips that the filter leaves out, that are beyond the budget, and of others. */
export const coloursOf = (c: Theme): { out: string; beyond: string; within: string } => ({
  out: c.rule,
  beyond: c.faint,
  within: c.accent,
});
