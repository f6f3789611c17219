// SPDX-License-Identifier: Apache-2.0
// What the reader of a network's page has chosen.

import { Watched } from '../watched';
import { pictureOf, type Box, type Group, type NetworkReport, type Picture } from './data';

export type NetworkSource = 'predicted' | 'simulated';

export interface NetworkChoice {
  box: number | null; // highlighted everywhere
  shown: readonly number[]; // boxes that pass the filter
  source: NetworkSource;
}

export class NetworkState extends Watched<NetworkChoice> {
  readonly picture: Picture;
  readonly sources: NetworkSource[];

  constructor(readonly report: NetworkReport) {
    const picture = pictureOf(report.network);
    super({ box: null, shown: picture.boxes.map((_, i) => i), source: 'predicted' });
    this.picture = picture;
    const simulated = report.network.groups.some((g) => g.simulated_us !== undefined);
    this.sources = simulated ? ['predicted', 'simulated'] : ['predicted'];
  }

  box(i: number): Box {
    return this.picture.boxes[i] as Box;
  }

  /** The box's time by the chosen source. */
  time(i: number): number | null {
    const b = this.box(i);
    return this.get().source === 'predicted' ? b.predicted_us : b.simulated_us;
  }

  /** Its part of the time of all. */
  share(i: number): number | null {
    const { total } = this.report.network;
    const all = this.get().source === 'predicted' ? total.predicted_us : total.simulated_us;
    const us = this.time(i);
    return us === null || all === undefined || all <= 0 ? null : us / all;
  }

  timeOfGroup(g: Group): number | undefined {
    return this.get().source === 'predicted' ? g.predicted_us : g.simulated_us;
  }

  /** The line of the filter, for views that write it: where a bar is clicked. */
  filter: (line: string) => void = () => {};
}

/** "layer1.attention.query .. add": the first node and the last, whose name begins where the names differ. */
export function nameOf(g: Group): string {
  const [first, last] = [g.nodes[0] ?? '', g.nodes.at(-1) ?? ''];
  if (g.nodes.length === 1) return first;
  let shared = 0;
  for (let i = 0; i < first.length && first[i] === last[i]; ++i) if (first[i] === '.') shared = i + 1;
  return `${first} .. ${last.slice(shared)}`;
}
