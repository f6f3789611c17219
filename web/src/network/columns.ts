// SPDX-License-Identifier: Apache-2.0
// The columns of the table of groups, which the filter line names too.

import { number, percent, quantity, time } from '../format';
import type { TableColumn } from '../sorted_list';
import { kindsText, levelsText } from './data';
import { nameOf, type NetworkState } from './state';

type Of<T> = (box: number) => T;

export function networkColumns(state: NetworkState): TableColumn[] {
  const box = (i: number) => state.box(i);
  const text = (name: string, about: string, of: Of<string>): TableColumn => {
    return { name, names: [name], unit: '', number: () => null, text: of, left: true, about };
  };
  const amount = (
    name: string,
    unit: string,
    about: string,
    of: Of<number | null>,
    say: (x: number) => string,
  ): TableColumn => {
    const said = (i: number) => {
      const x = of(i);
      return x === null ? '' : say(x);
    };
    return { name, names: [name], unit, number: of, text: said, about };
  };
  const simulated = state.sources.includes('simulated');
  const error = (i: number) => {
    const { predicted_us: p, simulated_us: s } = box(i);
    return p === null || s === null || s <= 0 ? null : p / s - 1;
  };
  const ofRoofline = (i: number) => {
    const us = state.time(i);
    const least = box(i).speed_of_light_us;
    return us === null || least === null || us <= 0 ? null : least / us;
  };
  return [
    amount(
      'group',
      '',
      'Number of the first of them, in the order in which they run',
      (i) => box(i).groups[0] ?? 0,
      String,
    ),
    text('node', 'Names of the first node and the last one', (i) => nameOf(box(i).first)),
    text('kind', 'The kind of the node that computes most', (i) => box(i).first.kind),
    text('kinds', 'Kinds of all its nodes', (i) => kindsText(box(i).first)),
    amount('count', '', 'How many equal groups the row stands for', (i) => box(i).groups.length, String),
    amount('kernels', '', 'Kernels of all of them', (i) => box(i).kernels, String),
    text('inside', 'Tensors that pass from stage to stage within kernels, and the memory level that holds them', (i) =>
      levelsText(box(i).first),
    ),
    amount('predicted', 'us', 'Time by the model, of all of them', (i) => box(i).predicted_us, time),
    ...(simulated
      ? [
          amount('simulated', 'us', 'Time by the simulator, of all of them', (i) => box(i).simulated_us, time),
          amount("model's error", '%', 'Predicted over simulated, minus one', error, signedPercent),
        ]
      : []),
    amount('share', '%', 'Of the time of all groups', (i) => state.share(i), percent),
    amount(
      'speed of light',
      'us',
      'Roofline: operations at the peak, or what comes from outside the network through the DRAM',
      (i) => box(i).speed_of_light_us,
      time,
    ),
    amount('of roofline', '%', 'The roofline over the time', ofRoofline, percent),
    amount(
      'DRAM',
      'B',
      'Bytes that kernels read from the DRAM and write to it',
      (i) => box(i).dram_bytes,
      (x) => quantity(x, 'B'),
    ),
    amount(
      'GFLOP',
      '',
      'Arithmetic operations in billions; a multiply-add is two',
      (i) => box(i).operations / 1e9,
      number,
    ),
    text('bound by', 'The term that takes longest alone', (i) => box(i).bottleneck || (box(i).first.error ?? '')),
    ...(simulated ? [text('top stall', 'What most of the simulated cycles are spent on', (i) => box(i).stall)] : []),
  ];
}

/** "+3.1 %", "-12 %". */
export const signedPercent = (x: number): string => `${x > 0 ? '+' : ''}${percent(x)}`;
