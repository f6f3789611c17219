// SPDX-License-Identifier: Apache-2.0
// Colours that differ for colour-blind eyes too (after Okabe and Ito), in light and dark.

export interface Theme {
  dark: boolean;
  narrow?: boolean; // the drawing is
  ink: string;
  faint: string;
  rule: string;
  paper: string;
  accent: string;
  mark: string;
}

const kLight: Theme = {
  dark: false,
  ink: '#1c2127',
  faint: '#5f6b76',
  rule: '#dde2e7',
  paper: '#ffffff',
  accent: '#0064a6',
  mark: '#c23b00',
};
const kDark: Theme = {
  dark: true,
  ink: '#dfe4ea',
  faint: '#98a3ae',
  rule: '#323a43',
  paper: '#14181d',
  accent: '#5db4f0',
  mark: '#ff8f4a',
};

/** Paper is white, whatever the screen is, and has a layout of its own (print.css), in which drawings are drawn anew. */
let printing = false;
const redraws: (() => void)[] = [];
if (typeof addEventListener === 'function')
  for (const [event, now] of [
    ['beforeprint', true],
    ['afterprint', false],
  ] as const)
    addEventListener(event, () => {
      printing = now;
      document.documentElement.classList.toggle('printing', now);
      for (const redraw of redraws) redraw();
    });

export function theme(): Theme {
  return !printing && matchMedia('(prefers-color-scheme: dark)').matches ? kDark : kLight;
}

export function onThemeChange(redraw: () => void): void {
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw);
  redraws.push(redraw);
}

/** Terms of levels are called as their chips call them; others than these share what is left. */
const kTerms: Record<string, string> = {
  issue: '#56b4e9',
  arithmetic: '#0072b2',
  smem: '#009e73',
  l1: '#e5d43b',
  l2: '#e69f00',
  l3: '#a6761d',
  dram: '#d55e00',
  latency: '#cc79a7',
  launch: '#8c8c8c',
  // Of chips whose cores exchange data.
  compute: '#0072b2',
  call: '#56b4e9',
  exchange: '#cc79a7',
  sync: '#a6761d',
  arrange: '#e69f00',
  reduce: '#009e73',
};
const kOtherLevels = ['#8a6fd1', '#66a61e', '#7570b3', '#a6a6a6'];
const kSeries = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#e69f00', '#56b4e9', '#8a6fd1', '#8c8c8c'];
const kSymbols = ['circle', 'triangle', 'rect', 'diamond', 'roundRect', 'arrow', 'pin', 'emptyCircle'];

/** The colour of what binds; the order is that of the terms of a prediction. */
export const termColour = (term: string): string =>
  kTerms[term] ??
  (kOtherLevels[[...term].reduce((sum, c) => sum + c.charCodeAt(0), 0) % kOtherLevels.length] as string);
export const termOrder = (term: string): number => (term in kTerms ? Object.keys(kTerms).indexOf(term) : 99);
export const seriesColour = (i: number): string => kSeries[i % kSeries.length] as string;
/** The same as a background; after the last colour they come hatched. */
export const seriesFill = (i: number): string => {
  const colour = seriesColour(i);
  if (i < kSeries.length) return colour;
  return `repeating-linear-gradient(45deg, ${colour} 0 3px, color-mix(in srgb, ${colour} 45%, white) 3px 5px)`;
};
export const seriesSymbol = (i: number): string => kSymbols[i % kSymbols.length] as string;

type Rgb = [number, number, number];

const mix = (a: Rgb, b: Rgb, share: number): Rgb => a.map((x, i) => Math.round(x + ((b[i] ?? 0) - x) * share)) as Rgb;

/** Of sRGB (IEC 61966-2-1); on a luminance of kEqualContrast black and white are read alike. */
const linear = (x: number): number => (x <= 10.31 ? x / 255 / 12.92 : ((x / 255 + 0.055) / 1.055) ** 2.4);
const kEqualContrast = 0.179;

type Painted = { fill: string; ink: string };

/** The ink is what reads on the fill. */
function painted(fill: Rgb): Painted {
  const luminance = 0.2126 * linear(fill[0]) + 0.7152 * linear(fill[1]) + 0.0722 * linear(fill[2]);
  return { fill: `rgb(${fill.join(' ')})`, ink: luminance > kEqualContrast ? '#000000' : '#ffffff' };
}

const middleOf = (dark: boolean): Rgb => (dark ? [38, 44, 51] : [246, 246, 244]);
const orangeOf = (dark: boolean): Rgb => (dark ? [201, 104, 34] : [217, 95, 14]);
const blueOf = (dark: boolean): Rgb => (dark ? [47, 128, 196] : [33, 113, 181]);

/**
 * Of a ratio to the base: blue is faster, orange slower, neutral equal; the strongest colour at `most` times faster or
 * slower.
 */
export function ratioColour(ratio: number, most: number, dark: boolean): Painted {
  const end = ratio < 1 ? blueOf(dark) : orangeOf(dark);
  const share = Math.min(1, Math.abs(Math.log(ratio)) / Math.log(Math.max(most, 1.0001)));
  return painted(mix(middleOf(dark), end, share));
}

/** Of a share from 0, neutral, to 1, the strongest colour. */
export const shareColour = (share: number, dark: boolean): Painted =>
  painted(mix(middleOf(dark), orangeOf(dark), Math.min(1, Math.max(0, share))));
