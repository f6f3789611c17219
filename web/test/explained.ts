// SPDX-License-Identifier: Apache-2.0
// A sample with networks, sources of its base's figures, and sensitivities.

import type { Report } from '../src/data';
import { decided } from './decided';
import type { SampleOptions } from './sample';

export function explained(o: SampleOptions): Report {
  const r = decided(o);
  const figure = (part: string, key: string, value: string, mark: string, source: string, line: number) => ({
    part,
    key,
    value,
    ...(mark === '' ? {} : { mark, source }),
    at: `v100.yaml:${line}`,
  });
  r.bases = [
    {
      chip: 0,
      as_swept: true,
      figures: [
        figure('', 'clock', '1.38 GHz', 'D', 'data sheet, boost clock', 5),
        figure('core', 'count', '80', 'D', 'white paper', 8),
        figure('core', 'issue', '1', '', '', 9),
        figure('compute.fma.f32', 'per_core', '64', 'D', 'white paper: FP32 units', 20),
        figure('compute.mma.f16', 'per_core', '512', 'P', 'tensor cores', 26),
        figure('memory.dram', 'channels', '64', 'D', 'four stacks', 40),
        figure('memory.dram', 'queue_depth', '32', 'E', 'not published: as DRAMsim3 has it', 41),
        figure('memory.smem', 'banks', '32', 'M', 'microbenchmark', 60),
        figure('link', 'width', '32 B', 'X', 'made up', 70),
      ],
      calibration: {
        'dram.read': { ratio: 0.966, source: 'gpu-benches, 867 of 898 GB/s' },
        'smem.read': { ratio: 0.992, residual: 0.006, source: 'gpu-benches, 126.5 of 128 B a clock' },
      },
      error_bands: {
        matmul: { dtype: 'f32', low: 0.84, high: 1.12, rows: 400, source: 'half of the shapes of Ansor' },
        all: { dtype: 'f32', low: 0.9, high: 1.3, rows: 8749, source: 'all measured kernels' },
      },
    },
  ];
  const axis = (name: string, elasticity: number | null, from: string, to: string, first: number, total: number) => ({
    axis: name,
    values: 3,
    elasticity,
    from: elasticity === null ? null : from,
    to: elasticity === null ? null : to,
    first_order: first,
    first_order_interval: [first - 0.05, first + 0.05] as [number, number],
    total,
    total_interval: [total - 0.04, total + 0.04] as [number, number],
  });
  const common = { points: 320, rows: 64, rows_lost: 0, centre: 'core.count 80, memory.smem.banks 32, clock 1.38 GHz' };
  r.sensitivities = [
    {
      ...common,
      objective: 'time',
      unit: 'us',
      mean: 3400,
      deviation: 610,
      axes: [
        axis('core.count', -0.6, '60', '100', 0.62, 0.7),
        axis('memory.smem.banks', -0.4, '16', '64', 0.25, 0.33),
        axis('clock', null, '', '', -0.01, 0.02),
      ],
    },
    {
      ...common,
      objective: 'area',
      unit: 'mm2',
      mean: 520,
      deviation: 90,
      axes: [axis('core.count', 0.8, '60', '100', 0.98, 0.98), axis('memory.smem.banks', 0.02, '16', '64', 0.01, 0.01)],
    },
  ];
  return r;
}
