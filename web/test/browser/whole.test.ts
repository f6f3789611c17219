// SPDX-License-Identifier: Apache-2.0
// From a sweep's file to the page: what `tilescope sweep` computes, `export` lists and `report` shows is the same.

import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { number, time } from '../../src/format';
import { launch, Opened } from './page';

const kProgram = process.env['TILESCOPE_BINARY'] ?? '';

const kSweep = `sweep: Banks and channels
base: v100
axes:
  memory.smem.banks: [16, 32]
  memory.dram.channels: [32, 64]
workloads:
  - {op: "C[m,n] +=! A[m,k] * B[k,n]", size: "m=512,n=512,k=512", id: gemm, weight: 3}
  - {op: "O[i] = I[i] + I[i+1]", size: "i=1000000", id: add}
`;

interface Row {
  point: number;
  workload: string;
  weight: number;
  predicted_us: number;
}

// A report's figures have five digits: what lies between two roundings may be shown as either.
const roundings = (us: number): string[] => [us * (1 - 1e-5), us, us * (1 + 1e-5)].map(time);

const kTiles = ['block tile', 'thread tile', 'threads'];

test.skipIf(kProgram === '')('the page of a sweep shows what its export lists', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tilescope-whole-'));
  const run = (...args: string[]) => execFileSync(kProgram, args, { cwd: folder, stdio: 'pipe' }).toString();
  writeFileSync(join(folder, 's.yaml'), kSweep);
  run('sweep', 's.yaml', '--store', 'r.db', '--jobs', '1');
  run('export', 'r.db', '-o', 'r.jsonl');
  run('report', 'r.db', '-o', 'r.html');
  const lines = readFileSync(join(folder, 'r.jsonl'), 'utf8').trim().split('\n');
  const rows = lines.map((line) => JSON.parse(line) as Row);
  const browser = await launch();
  const opened = await Opened.open(browser, readFileSync(join(folder, 'r.html'), 'utf8'));
  const { page } = opened;
  try {
    expect(await page.locator('h1').innerText()).toBe('Banks and channels');
    expect(await page.locator('details pre').textContent()).toBe(kSweep);
    expect(await page.locator('#counts').innerText()).toContain('Times: 10 of 10 done, 0 failed.');
    for (let point = 0; point < 5; ++point) {
      const mine = rows.filter((r) => r.point === point);
      const total = mine.reduce((sum, r) => sum + r.weight * r.predicted_us, 0);
      const row = page.locator(`#chips tr[data-chip="${point}"]`);
      expect((await row.innerText()).split('\t').some((cell) => roundings(total).includes(cell))).toBe(true);
      await row.click();
      for (const r of mine) {
        const cells = await page.locator('#operators .list tr', { hasText: r.workload }).innerText();
        expect(cells.split('\t').some((cell) => roundings(r.predicted_us).includes(cell))).toBe(true);
      }
    }
    // What the page says how to construct is what stands beside it.
    const command = await page.locator('.command').last().innerText();
    const printed = execFileSync('sh', ['-c', command.replace(/^tilescope/, `'${kProgram}'`) + ' --top 1 --json'], {
      cwd: folder,
      stdio: 'pipe',
    });
    const [operator] = (
      JSON.parse(printed.toString()) as {
        operators: { programs: { program: { nodes: { tiles: Record<string, Record<string, number>> }[] } }[] }[];
      }
    ).operators;
    const tiles = Object.values(operator?.programs[0]?.program.nodes[0]?.tiles ?? {}).map((t) =>
      Object.values(t)
        .map((n) => number(n))
        .join('x'),
    );
    const shown = await page
      .locator('.programs tbody tr')
      .evaluateAll((found) =>
        found.map((tr) => [tr.querySelector('th')?.textContent, tr.querySelector('td:last-child')?.textContent]),
      );
    for (const [i, tile] of tiles.entries()) expect(shown).toContainEqual([kTiles[i], tile]);
    expect(opened.requests).toEqual([`file://${opened.path}`]);
    expect(opened.complaints).toEqual([]);
  } finally {
    await browser.close();
    rmSync(folder, { recursive: true });
  }
});
