// SPDX-License-Identifier: Apache-2.0
// The document of a network's times (docs/json.md, network) as it is, and the boxes that stand for its groups: equal
// runs of groups are one run of boxes. Sums over the copies of a box are all that is computed here.

export interface Group {
  nodes: string[];
  kinds: string[];
  kind: string; // of the node that computes most
  operator: string;
  sizes: string;
  program?: string;
  reads: string[];
  writes: string[];
  kernels: number;
  stages: { tensor: string; node: number; kernel: number }[];
  passes: { from: number; to: number; tensor: string; level: string }[];
  operations: number;
  bytes: number;
  predicted_us?: number;
  speed_of_light_us?: number;
  dram_bytes?: number;
  bottleneck?: string;
  simulated_us?: number;
  simulated_dram_bytes?: number;
  stall?: string;
  error?: string;
}

export interface Total {
  groups: number;
  without_time: number;
  kernels: number;
  predicted_us: number;
  dram_bytes: number;
  intermediate_bytes: number;
  speed_of_light_us: number;
  simulated_us?: number;
  simulated_dram_bytes?: number;
}

export interface Tensor {
  tensor: string;
  shape: string;
  dtype: string;
  bytes: number;
  role: 'constant' | 'input' | 'between' | 'output';
}

export interface Network {
  version: string;
  network: string;
  about?: string;
  sizes: Record<string, number>;
  dtype?: string;
  arch: string;
  set: string[];
  groups: Group[];
  runs: { first: number; last: number; times: number }[];
  tensors: Tensor[];
  total: Total;
  unfused: Total;
  speed_of_light_us: number;
  launch_us: number;
  memory: {
    bytes: number;
    constant_bytes: number;
    input_bytes: number;
    between_bytes: number;
    live_bytes: number;
    at: string;
    level: string;
    capacity_bytes: number;
  };
  bound: { bottleneck: string; ratio: number }[];
  opaque: number;
  sequence: boolean;
}

export interface NetworkReport {
  report: number;
  title: string;
  version: string;
  provenance: [string, string][];
  network: Network;
}

/** Groups that a picture draws once: one, or its copies in all runs. */
export interface Box {
  groups: number[]; // in their order
  first: Group;
  predicted_us: number | null; // sums over the groups; null where one of them has none
  simulated_us: number | null;
  speed_of_light_us: number | null;
  dram_bytes: number | null;
  operations: number;
  kernels: number;
  bottleneck: string; // of the group that takes longest
  stall: string;
  from: Link[];
}

/** What a box reads of an earlier one. */
export interface Link {
  box: number;
  tensors: string[];
}

export interface Run {
  first: number; // boxes
  last: number;
  times: number;
}

export interface Picture {
  boxes: Box[];
  runs: Run[];
  boxOf: number[]; // of every group
}

export const isNetwork = (parsed: object): boolean => 'network' in parsed;

/** Checked as one; `tilescope report` has checked the rest. */
export function networkOf(parsed: object): NetworkReport {
  const report = parsed as NetworkReport;
  if (!Array.isArray(report.network?.groups) || !Array.isArray(report.network.runs))
    throw new Error('The data in this file is damaged: the network has no groups.');
  return report;
}

function sum(values: (number | undefined)[]): number | null {
  let out = 0;
  for (const v of values) {
    if (v === undefined) return null;
    out += v;
  }
  return out;
}

function boxOf(groups: readonly Group[], members: number[]): Box {
  const all = members.map((g) => groups[g] as Group);
  const longest = all.reduce((a, b) => ((b.predicted_us ?? 0) > (a.predicted_us ?? 0) ? b : a));
  return {
    groups: members,
    first: all[0] as Group,
    predicted_us: sum(all.map((g) => g.predicted_us)),
    simulated_us: sum(all.map((g) => g.simulated_us)),
    speed_of_light_us: sum(all.map((g) => g.speed_of_light_us)),
    dram_bytes: sum(all.map((g) => g.dram_bytes)),
    operations: all.reduce((n, g) => n + (g.operations ?? 0), 0),
    kernels: all.reduce((n, g) => n + g.kernels, 0),
    bottleneck: longest.bottleneck ?? '',
    stall: longest.stall ?? '',
    from: [],
  };
}

/** The boxes in the order of their first groups. */
export function pictureOf(n: Network): Picture {
  const members: number[][] = [];
  const at: number[] = [];
  const runs: Run[] = [];
  let run = 0;
  for (let g = 0; g < n.groups.length; ++g) {
    const r = n.runs[run];
    const period = r ? r.last - r.first + 1 : 0;
    const original = r && g > r.last ? r.first + ((g - r.first) % period) : g;
    if (original === g) members.push([]);
    const box = original === g ? members.length - 1 : (at[original] as number);
    at.push(box);
    members[box]?.push(g);
    if (r && g + 1 === r.first + period * r.times) {
      runs.push({ first: at[r.first] as number, last: at[r.last] as number, times: r.times });
      ++run;
    }
  }
  const boxes = members.map((groups) => boxOf(n.groups, groups));
  const writer = new Map<string, number>();
  n.groups.forEach((g, i) => g.writes.forEach((t) => writer.set(t, i)));
  boxes.forEach((box, b) => {
    for (const tensor of box.first.reads) {
      const from = at[writer.get(tensor) ?? -1];
      if (from === undefined || from >= b) continue;
      const known = box.from.find((l) => l.box === from);
      if (known) known.tensors.push(tensor);
      else box.from.push({ box: from, tensors: [tensor] });
    }
  });
  return { boxes, runs, boxOf: at };
}

export interface Share {
  name: string;
  us: number;
  ratio: number;
  groups: number;
}

/** Shares of the time of all groups by a name of theirs, the largest first; copies count each. */
export function sharesBy(
  groups: readonly Group[],
  name: (g: Group) => string,
  us: (g: Group) => number | undefined,
): Share[] {
  const known = new Map<string, Share>();
  let all = 0;
  for (const g of groups) {
    const t = us(g);
    if (t === undefined) continue;
    const share = known.get(name(g)) ?? { name: name(g), us: 0, ratio: 0, groups: 0 };
    share.us += t;
    share.groups += 1;
    all += t;
    known.set(share.name, share);
  }
  const out = [...known.values()].sort((a, b) => b.us - a.us);
  for (const s of out) s.ratio = all > 0 ? s.us / all : 0;
  return out;
}

/** "Conv+Relu"; "4 Conv+3 Relu" where that would be long. */
export function kindsText(g: Group): string {
  const kinds = g.nodes.map((_, n) => kindOfNode(g, n));
  if (kinds.length <= 4) return kinds.join('+');
  const counted = new Map<string, number>();
  for (const k of kinds) counted.set(k, (counted.get(k) ?? 0) + 1);
  return [...counted].map(([k, n]) => (n === 1 ? k : `${n} ${k}`)).join('+');
}

/** The kind of a node: of stages in index notation the last part of its name. */
export function kindOfNode(g: Group, node: number): string {
  const kind = g.kinds[node] ?? '';
  const name = g.nodes[node] ?? '';
  return kind === 'notation' ? name.slice(name.lastIndexOf('.') + 1) : kind;
}

/** Tensors between stages by level, but those of the outermost: "2 smem, 1 reg". */
export function levelsText(g: Group): string {
  const byLevel = new Map<string, Set<string>>();
  for (const p of insidePasses(g)) byLevel.set(p.level, (byLevel.get(p.level) ?? new Set()).add(p.tensor));
  return [...byLevel].map(([level, tensors]) => `${tensors.size} ${level}`).join(', ');
}

/** The passes within kernels. */
export function insidePasses(g: Group): Group['passes'] {
  return g.passes.filter((p) => g.stages[p.from]?.kernel === g.stages[p.to]?.kernel);
}
