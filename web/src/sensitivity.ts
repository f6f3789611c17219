// SPDX-License-Identifier: Apache-2.0
// What an objective depends on, for drawings: indices as they are, and of every axis what a step along it does.

import type { AxisSensitivity, Report, Sensitivity } from './data';
import { parseQuantity } from './format';

/** One axis of a tornado: the objective over its value at the base, at both ends of the step. */
export interface Swing {
  axis: string;
  from: string;
  to: string;
  change: number; // of the objective from the one value to the other, as a share of it
}

/** The largest first; axes without an elasticity, or whose values are no numbers, have none. */
export function swingsOf(r: Report, s: Sensitivity): Swing[] {
  return s.axes
    .flatMap((a): Swing[] => {
      const ratio = stepOf(r, a);
      if (ratio === null || a.elasticity === null) return [];
      return [{ axis: a.axis, from: a.from ?? '', to: a.to ?? '', change: ratio ** a.elasticity - 1 }];
    })
    .sort((a, b) => Math.abs(Math.log1p(b.change)) - Math.abs(Math.log1p(a.change)));
}

/** The higher value over the lower one; of tied axes those of the first. */
function stepOf(r: Report, a: AxisSensitivity): number | null {
  const unit = r.axes.find((x) => x.name === a.axis.split(', ')[0])?.unit ?? '';
  const [from, to] = [parseQuantity(a.from ?? '', unit), parseQuantity(a.to ?? '', unit)];
  return from === null || to === null || from <= 0 || to <= 0 ? null : to / from;
}

/** How much of the variance comes with others alone; not below 0, which estimates may be. */
export const interactionOf = (a: AxisSensitivity): number => Math.max(0, a.total - a.first_order);
