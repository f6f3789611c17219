// SPDX-License-Identifier: Apache-2.0
// Where an axis has its marks: round numbers, in bytes round powers of two.

export interface Scale {
  log: boolean;
  min: number;
  max: number;
  ticks: number[];
}

const kMostTicks = 6;

function stepOf(least: number, binary: boolean): number {
  if (binary) return 2 ** Math.ceil(Math.log2(least));
  const decade = 10 ** Math.floor(Math.log10(least));
  return ([1, 2, 5, 10].find((m) => m * decade >= least * (1 - 1e-9)) ?? 10) * decade;
}

function linear(min: number, max: number, binary: boolean): number[] {
  const step = stepOf((max - min) / kMostTicks, binary);
  const ticks: number[] = [];
  for (let i = Math.max(0, Math.ceil(min / step - 1e-9)); i * step <= max * (1 + 1e-12); ++i) ticks.push(i * step);
  return ticks;
}

function logarithmic(min: number, max: number, binary: boolean): number[] {
  const base = binary ? 2 : 10;
  const from = Math.floor(Math.log(min) / Math.log(base));
  const until = Math.ceil(Math.log(max) / Math.log(base));
  const within = (mantissas: number[], stride: number) => {
    const ticks: number[] = [];
    for (let e = from; e <= until; ++e)
      if (e % stride === 0)
        for (const m of mantissas) {
          const tick = m * base ** e;
          if (tick >= min * (1 - 1e-9) && tick <= max * (1 + 1e-9)) ticks.push(tick);
        }
    return ticks;
  };
  const dense = binary ? [[1]] : [[1, 2, 3, 4, 5, 6, 7, 8, 9], [1, 2, 3, 5, 7], [1, 2, 5], [1, 3], [1]];
  for (const mantissas of dense) {
    const ticks = within(mantissas, 1);
    if (ticks.length <= kMostTicks) return ticks;
  }
  for (let stride = 2; ; ++stride) {
    const ticks = within([1], stride);
    if (ticks.length <= kMostTicks) return ticks;
  }
}

/** An axis that holds all values, none of them negative, and a little room; logarithmic where the values spread over more than eight times. */
export function scaleOf(values: Iterable<number | null | undefined>, unit: string): Scale {
  let least = Infinity;
  let most = -Infinity;
  for (const v of values)
    if (v !== null && v !== undefined) {
      if (v < least) least = v;
      if (v > most) most = v;
    }
  if (least > most) [least, most] = [1, 2];
  const binary = unit === 'B';
  if (least > 0 && most / least > 8) {
    const room = (most / least) ** 0.04;
    const [min, max] = [least / room, most * room];
    return { log: true, min, max, ticks: logarithmic(min, max, binary) };
  }
  const spread = most - least || Math.abs(most) || 1;
  const room = spread * 0.06;
  const min = Math.max(0, least - room);
  return { log: false, min, max: most + room, ticks: linear(min, most + room, binary) };
}
