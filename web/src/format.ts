// SPDX-License-Identifier: Apache-2.0
// Numbers as people read them: four significant digits, the unit that keeps them short.

export function number(x: number, digits = 4): string {
  if (!Number.isFinite(x)) return '';
  if (Number.isInteger(x) && Math.abs(x) < 1e7) return String(x);
  const short = Number(x.toPrecision(digits));
  return Math.abs(short) >= 1e7 || (short !== 0 && Math.abs(short) < 1e-4) ? short.toExponential() : String(short);
}

type Scales = [number, string][];

/** Units of one kind, each the power of ten of it in their common unit, the largest first. */
const kKinds: [number, string][][] = [
  [
    [0, 's'],
    [-3, 'ms'],
    [-6, 'us'],
    [-9, 'ns'],
  ],
  [
    [3, 'kJ'],
    [0, 'J'],
    [-3, 'mJ'],
    [-6, 'uJ'],
    [-9, 'nJ'],
    [-12, 'pJ'],
  ],
  [
    [3, 'kW'],
    [0, 'W'],
    [-3, 'mW'],
  ],
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
  if (unit === 'B') return kBytes;
  if (['B/s', 'FLOP/s', 'Hz'].includes(unit)) return kPrefixes.map(([scale, prefix]) => [scale, prefix + unit]);
  if (unit === '%') return [[0.01, unit]];
  const kind = kKinds.find((units) => units.some(([, name]) => name === unit)) ?? [];
  const own = kind.find(([, name]) => name === unit)?.[0] ?? 0;
  return kind.length === 0 ? [[1, unit]] : kind.map(([power, name]) => [10 ** (power - own), name]);
}

/** "1.38 ms", "96 KiB": as `quantity`, but as a filter line or a sweep's file has it. */
export function written(x: number, unit: string): string {
  if (x === 0) return `0 ${unit}`.trim();
  const scales = scalesOf(unit);
  const [scale, name] = scales.find(([s]) => Math.abs(x) >= s * (1 - 1e-9)) ?? (scales.at(-1) as [number, string]);
  return `${number(x / scale)} ${name}`.trim();
}

/** "1.38 ms", "96 KiB", "612 mm²", "$4,999": a value in its unit, or in the one of its kind that keeps it short. */
export function quantity(x: number | null | undefined, unit: string): string {
  if (x === null || x === undefined) return 'unknown';
  if (unit === 'USD') return dollars(x);
  return readable(written(x, unit));
}

/** Above a hundred cents say nothing. */
function dollars(x: number): string {
  const short = Number(x.toPrecision(4));
  const digits = Math.abs(short) >= 100 || Number.isInteger(short) ? 0 : 2;
  const text = Math.abs(short)
    .toFixed(digits)
    .replace(/\B(?=(\d{3})+(?!\d))(?<!\.\d*)/g, ',');
  return `${short < 0 ? '-' : ''}$${text}`;
}

/** A text of a sweep's file as people write it by hand: "area ≤ 600 mm²". */
export const readable = (text: string): string =>
  text
    .replaceAll('<=', '≤')
    .replaceAll('>=', '≥')
    .replace(/\bmm2\b/g, 'mm²');

/** The value of "96 KiB", "1.38GHz", "$5,000" or "12" in `unit`, of a bare number as it is (in `unit`); null where it is none. */
export function parseQuantity(text: string, unit: string): number | null {
  const plain = text.replace(/\s+/g, '').replace(/(\d),(?=\d{3})/g, '$1');
  const found = /^(-?)(\$?)(-?\d*\.?\d+(?:e[+-]?\d+)?)(.*)$/i.exec(plain);
  if (!found) return null;
  const value = Number(`${found[1] ?? ''}${found[3] ?? ''}`);
  const suffix = `${found[4] ?? ''}${found[2] ? 'usd' : ''}`.toLowerCase().replace('mm²', 'mm2');
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
