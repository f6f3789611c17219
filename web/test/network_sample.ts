// SPDX-License-Identifier: Apache-2.0
// The report of a network that never ran: layers of four groups between an embedding and a head.

import type { Group, Network, NetworkReport, Tensor } from '../src/network/data';

const kGroup: Omit<Group, 'nodes' | 'kinds' | 'kind' | 'reads' | 'writes'> = {
  operator: 'Y0[a0,a1] = X0[a0,a1]',
  sizes: 'a0=64,a1=64',
  kernels: 1,
  stages: [],
  passes: [],
  operations: 1e6,
  bytes: 32768,
};

/** In a layer: two products of one input, a fused attention whose softmax passes in the scratchpad, a product and a sum. */
function layer(l: number, us: number): Group[] {
  const n = (name: string) => `layer${l}.${name}`;
  const x = l === 0 ? 'embedded' : `layer${l - 1}.sum`;
  const stage = (tensor: string, node: number, kernel = 0) => ({ tensor, node, kernel });
  const product = (name: string): Group => ({
    ...kGroup,
    nodes: [n(name)],
    kinds: ['MatMul'],
    kind: 'MatMul',
    program: '001_product',
    reads: [x, n(`${name}.weight`)],
    writes: [n(name)],
    stages: [stage('Y0', 0)],
    predicted_us: us,
    speed_of_light_us: us / 2,
    dram_bytes: 16384,
    bottleneck: 'arithmetic',
    simulated_us: us * 1.1,
    stall: 'dram',
  });
  return [
    product('query'),
    product('key'),
    {
      ...kGroup,
      nodes: [n('scores'), n('mask'), n('probabilities'), n('context')],
      kinds: ['MatMul', 'Where', 'Softmax', 'MatMul'],
      kind: 'MatMul',
      program: '003_attention',
      reads: [n('query'), n('key')],
      writes: [n('context')],
      kernels: 2,
      stages: [stage('Y0', 0), stage('T0', 2), stage('Y2', 2), stage('Y3', 3, 1)],
      passes: [
        { from: 0, to: 1, tensor: 'Y0', level: 'smem' },
        { from: 1, to: 2, tensor: 'T0', level: 'reg' },
        { from: 2, to: 3, tensor: 'Y2', level: 'dram' },
      ],
      predicted_us: 3 * us,
      speed_of_light_us: us,
      dram_bytes: 8192,
      bottleneck: 'dram',
      simulated_us: 3 * us,
      stall: 'smem',
    },
    {
      ...kGroup,
      nodes: [n('out'), n('sum')],
      kinds: ['MatMul', 'notation'],
      kind: 'MatMul',
      program: '004_out',
      reads: [n('context'), x, n('out.weight')],
      writes: [n('sum')],
      stages: [stage('Y0', 0), stage('Y1', 1)],
      passes: [{ from: 0, to: 1, tensor: 'Y0', level: 'reg' }],
      predicted_us: 2 * us,
      speed_of_light_us: us,
      dram_bytes: 8192,
      bottleneck: 'arithmetic',
      simulated_us: 2 * us,
      stall: 'issue',
    },
  ];
}

export interface NetworkOptions {
  layers: number;
  simulated: boolean;
  failed: boolean; // the head has no time
}

export const kFourLayers: NetworkOptions = { layers: 4, simulated: true, failed: false };

export function network(o: NetworkOptions): NetworkReport {
  const groups: Group[] = [
    {
      ...kGroup,
      nodes: ['embedding'],
      kinds: ['Gather'],
      kind: 'Gather',
      program: '000_embedding',
      reads: ['ids', 'table'],
      writes: ['embedded'],
      stages: [{ tensor: 'Y0', node: 0, kernel: 0 }],
      predicted_us: 5,
      simulated_us: 6,
      speed_of_light_us: 4,
      dram_bytes: 1e6,
      bottleneck: 'dram',
      stall: 'dram',
    },
    ...Array.from({ length: o.layers }, (_, l) => layer(l, 10)).flat(),
    {
      ...kGroup,
      nodes: ['<script>alert(1)</script>'],
      kinds: ['Softmax'],
      kind: 'Softmax',
      reads: [`layer${o.layers - 1}.sum`],
      writes: ['<b>scores</b>'],
      ...(o.failed
        ? { kernels: 0, error: 'no block of it fits the scratchpad' }
        : {
            program: '00n_head',
            predicted_us: 1,
            simulated_us: 1,
            speed_of_light_us: 1,
            dram_bytes: 0,
            bottleneck: 'launch',
          }),
    },
  ];
  if (!o.simulated)
    for (const g of groups) {
      delete g.simulated_us;
      delete g.stall;
    }
  const written = new Set(groups.flatMap((g) => g.writes));
  const names = [...new Set(groups.flatMap((g) => [...g.reads, ...g.writes]))];
  const tensors = names.map((tensor): Tensor => {
    const role = written.has(tensor) ? 'between' : tensor === 'ids' ? 'input' : 'constant';
    return { tensor, shape: '64x64', dtype: 'f32', bytes: 16384, role };
  });
  const sum = (of: (g: Group) => number | undefined) => groups.reduce((n, g) => n + (of(g) ?? 0), 0);
  const total = {
    groups: groups.length,
    without_time: o.failed ? 1 : 0,
    kernels: sum((g) => g.kernels),
    predicted_us: sum((g) => g.predicted_us),
    dram_bytes: sum((g) => g.dram_bytes),
    intermediate_bytes: 1e6,
    speed_of_light_us: sum((g) => g.speed_of_light_us),
    ...(o.simulated ? { simulated_us: sum((g) => g.simulated_us), simulated_dram_bytes: 2e6 } : {}),
  };
  const n: Network = {
    version: '0.1.0',
    network: 'sample',
    about: 'layers of four groups',
    sizes: { seq: 64 },
    arch: 'v100',
    set: [],
    groups,
    runs: o.layers > 2 ? [{ first: 1, last: 4, times: o.layers }] : [],
    tensors,
    total,
    unfused: { ...total, groups: 99, kernels: 99, predicted_us: 2 * total.predicted_us },
    speed_of_light_us: 20,
    launch_us: 3,
    memory: {
      bytes: 3e6,
      constant_bytes: 2e6,
      input_bytes: 1e5,
      between_bytes: 9e5,
      live_bytes: 8e5,
      at: 'layer0.context',
      level: 'dram',
      capacity_bytes: 1.6e10,
    },
    bound: [],
    opaque: 0,
    sequence: true,
  };
  return {
    report: 1,
    title: 'sample on v100',
    version: '0.1.0',
    provenance: [['document', 'network.json']],
    network: n,
  };
}
