// SPDX-License-Identifier: Apache-2.0
// A sample with objectives, budgets and parts, as closed forms again. The file of a chip with the fewest cores, where
// `gaps`, lacks the figures of price, so whether it keeps to the budgets is not known.

import type { Column, Constraint, Report } from '../src/data';
import { range, sample, type SampleOptions } from './sample';

export interface Budgets {
  area: number;
  power: number;
  price: number;
}

export const kBudgets: Budgets = { area: 600, power: 300, price: 5000 };

const digits = (x: number): number => Number(x.toPrecision(5));

export function decided(o: SampleOptions, budgets: Budgets = kBudgets, gaps = false): Report {
  const r = sample(o);
  const chips = r.counts.chips;
  const value = (name: string, chip: number, other: number): number => {
    const i = r.axes.findIndex((a) => a.name === name);
    return i < 0 ? other : (r.axes[i]?.numbers[r.chips.axis[i]?.[chip] ?? 0] ?? other);
  };
  const column = (of: (chip: number) => number): Column => range(chips, (chip) => digits(of(chip)));
  const cores = (chip: number) => value('core.count', chip, 80);
  const banks = (chip: number) => value('memory.smem.banks', chip, 32);
  const clock = (chip: number) => value('clock', chip, 1.38);
  const channels = (chip: number) => value('memory.dram.channels', chip, 64);
  const us = (chip: number) => r.chips.totals[0]?.total_us[chip] ?? 0;

  const areas = [
    { name: 'cores', values: column((c) => 3.6 * cores(c)) },
    { name: 'scratchpad', values: column((c) => cores(c) * (0.6 + 0.018 * banks(c))) },
    { name: 'dram interface', values: column((c) => 1.4 * channels(c)) },
    { name: 'rest', values: column(() => 92) },
  ];
  const energies = [
    { name: 'rest', values: column((c) => 40e-6 * us(c)) },
    { name: 'leakage', values: column((c) => 0.35e-6 * us(c) * cores(c)) },
    { name: 'clock tree', values: column((c) => 0.5e-6 * us(c) * cores(c) * clock(c)) },
    { name: 'instructions', values: column((c) => 0.004 * clock(c)) },
    { name: 'fma.f32', values: column((c) => 0.011 * clock(c) * clock(c)) },
    { name: 'smem', values: column((c) => 0.002 + 3e-5 * banks(c)) },
    { name: 'l1', values: column(() => 0.0011) },
    { name: 'l2', values: column(() => 0.0016) },
    { name: 'dram', values: column((c) => 0.012 + 1e-5 * channels(c)) },
  ];
  const sum = (parts: { values: Column }[]): Column =>
    range(chips, (c) => digits(parts.reduce((all, p) => all + (p.values[c] ?? 0), 0)));
  const [area, energy] = [sum(areas), sum(energies)];
  const least = Math.min(...range(chips, cores));
  const priced = (of: (chip: number) => number): Column =>
    range(chips, (c) => (gaps && cores(c) === least ? null : digits(of(c))));
  const prices = [
    { name: 'die', values: priced((c) => 0.0042 * (area[c] as number) ** 2) },
    { name: 'memory', values: priced((c) => 22 * channels(c)) },
    { name: 'package', values: priced(() => 420) },
  ];
  const price = gaps ? range(chips, (c) => (prices[0]?.values[c] === null ? null : sumAt(prices, c))) : sum(prices);
  const power = column((c) => (energy[c] as number) / (us(c) * 1e-6));

  r.objectives = [
    { name: 'time', unit: 'us', better: 'less', values: r.chips.totals[0]?.total_us ?? [] },
    { name: 'energy', unit: 'J', better: 'less', values: energy },
    { name: 'area', unit: 'mm2', better: 'less', values: area },
    { name: 'price', unit: 'USD', better: 'less', values: price },
  ];
  r.chips.quantities.unshift({ name: 'power', unit: 'W', values: power });
  const atMost = (name: string, unit: string, bound: number): Constraint => ({
    text: `${name} <= ${bound} ${unit}`,
    name,
    unit,
    bound,
    at_most: true,
  });
  r.constraints = [
    atMost('area', 'mm2', budgets.area),
    atMost('power', 'W', budgets.power),
    atMost('price', 'USD', budgets.price),
  ];
  const beyond = (x: number | null | undefined, bound: number) => Math.max(0, (x ?? 0) / bound - 1);
  r.chips.violation = range(chips, (c) =>
    price[c] === null
      ? null
      : digits(beyond(area[c], budgets.area) + beyond(power[c], budgets.power) + beyond(price[c], budgets.price)),
  );
  r.chips.parts = [
    { name: 'energy', unit: 'J', parts: energies },
    { name: 'area', unit: 'mm2', parts: areas },
    { name: 'price', unit: 'USD', parts: prices },
  ];
  return r;
}

const sumAt = (parts: { values: Column }[], c: number): number =>
  digits(parts.reduce((all, p) => all + (p.values[c] ?? 0), 0));
