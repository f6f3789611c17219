// SPDX-License-Identifier: Apache-2.0
// Numbers as people read them: four significant digits, the unit that keeps them short.

export function number(x: number, digits = 4): string {
  if (!Number.isFinite(x)) return '';
  if (Number.isInteger(x) && Math.abs(x) < 1e7) return String(x);
  const short = Number(x.toPrecision(digits));
  return Math.abs(short) >= 1e7 || (short !== 0 && Math.abs(short) < 1e-4) ? short.toExponential() : String(short);
}

type Scales = [number, string][];

const kTimes: Scales = [
  [1e6, 's'],
  [1e3, 'ms'],
  [1, 'us'],
  [1e-3, 'ns'],
];
const kBytes: Scales = [
  [2 ** 30, 'GiB'],
  [2 ** 20, 'MiB'],
  [2 ** 10, 'KiB'],
  [1, 'B'],
];
const kPrefixes: Scales = [
  [1e15, 'P'],
  [1e12, 'T'],
  [1e9, 'G'],
  [1e6, 'M'],
  [1e3, 'k'],
  [1, ''],
];

function scalesOf(unit: string): Scales {
  if (unit === 'us') return kTimes;
  if (unit === 'B') return kBytes;
  if (['B/s', 'FLOP/s', 'Hz'].includes(unit)) return kPrefixes.map(([scale, prefix]) => [scale, prefix + unit]);
  if (unit === '%') return [[0.01, unit]];
  return [[1, unit]];
}

/** "1.38 ms", "96 KiB", "14.13 TFLOP/s": a value in its unit, or in the one of the same kind that keeps it short. */
export function quantity(x: number | null | undefined, unit: string): string {
  if (x === null || x === undefined) return 'unknown';
  const scales = scalesOf(unit);
  const [scale, name] = scales.find(([s]) => Math.abs(x) >= s * (1 - 1e-9)) ?? (scales.at(-1) as [number, string]);
  return name === '' ? number(x / scale) : `${number(x / scale)} ${name}`;
}

/** The value of "96 KiB", "1.38GHz", "900 GB/s" or "12" in `unit`, of a bare number as it is (in `unit`); null where it is none. */
export function parseQuantity(text: string, unit: string): number | null {
  const found = /^(-?\d*\.?\d+(?:e[+-]?\d+)?)(.*)$/i.exec(text.replace(/\s+/g, ''));
  if (!found) return null;
  const value = Number(found[1]);
  const suffix = (found[2] ?? '').toLowerCase();
  if (suffix === '') return unit === '%' ? value / 100 : value;
  const scale = [...scalesOf(unit), ...(unit.startsWith('B') ? kBytes : [])].find(
    ([, name]) => name.toLowerCase() === suffix,
  );
  return scale ? value * scale[0] : null;
}

export const time = (us: number | null | undefined): string => quantity(us, 'us');

/** A time over another one: "0.832x". */
export function ratio(r: number | null | undefined): string {
  if (r === null || r === undefined) return '';
  return `${r < 1000 ? r.toPrecision(3) : number(r, 3)}x`;
}

export function percent(share: number | null | undefined, digits = 3): string {
  return share === null || share === undefined ? '' : `${number(share * 100, digits)} %`;
}

export function count(n: number, noun: string): string {
  return `${n.toLocaleString('en-US')} ${noun}${n === 1 ? '' : 's'}`;
}
