// SPDX-License-Identifier: Apache-2.0
// The page of a network in Debian's Chromium: what it shows is compared with the document, box and row with each other.

import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';

import { time } from '../../src/format';
import type { Network } from '../../src/network/data';
import { kFourLayers, network } from '../network_sample';
import { launch, onPageOf, Opened } from './page';

const kProgram = process.env['TILESCOPE_BINARY'] ?? '';

let browser: Browser;
beforeAll(async () => {
  browser = await launch();
});
afterAll(() => browser.close());

const four = network(kFourLayers);

const box = (page: Page, i: number) => page.locator(`#graph .box[data-box="${i}"]`);
const row = (page: Page, i: number) => page.locator(`#groups tr[data-box="${i}"]`);
const rows = (page: Page) =>
  page.locator('#groups tbody tr').evaluateAll((all) => all.map((tr) => Number((tr as HTMLElement).dataset['box'])));

async function selectedEverywhere(page: Page, i: number, group: number): Promise<void> {
  expect(await page.evaluate(() => location.hash)).toBe(`#group=${group}`);
  expect(await box(page, i).getAttribute('aria-pressed')).toBe('true');
  expect(await page.locator('#graph .box.selected').count()).toBe(1);
  expect(await page.locator('#groups tr.selected').getAttribute('data-box')).toBe(String(i));
  const name = await page.locator('#group h3').innerText();
  expect(await page.locator('#selection strong').innerText()).toBe(name);
}

test('the header, totals and memory are those of the document', () =>
  onPageOf(browser, four, async (page) => {
    expect(await page.locator('h1').innerText()).toBe('sample on v100');
    expect(await page.locator('#counts').innerText()).toContain(`Predicted ${time(four.network.total.predicted_us)}`);
    const totals = await page.locator('#totals tbody tr').allInnerTexts();
    expect(totals[0]).toContain(time(four.network.unfused.predicted_us));
    expect(totals[1]).toContain(time(four.network.total.simulated_us));
    expect(totals[2]).toContain(time(four.network.speed_of_light_us));
    expect(await page.locator('#memory').innerText()).toContain('layer0.context');
    expect(await page.locator('#kinds').innerText()).toContain('MatMul');
  }));

test('names of a network are texts', () =>
  onPageOf(browser, four, async (page) => {
    await page.locator('#groups tr', { hasText: '<script>alert(1)</script>' }).click();
    expect(await page.locator('#group h3').innerText()).toBe('<script>alert(1)</script>');
    expect(await page.locator('#group').innerText()).toContain('<b>scores</b>');
  }));

test('a row selects its box, a box its row, and clear selects none', () =>
  onPageOf(browser, four, async (page) => {
    await row(page, 3).click();
    await selectedEverywhere(page, 3, 3);
    expect(await page.locator('#group').innerText()).toContain('inlined');
    await box(page, 4).click();
    await selectedEverywhere(page, 4, 4);
    expect(await page.locator('.edge.selected').count()).toBe(3);
    await page.locator('#selection button').click();
    expect(await page.locator('#graph .box.selected').count()).toBe(0);
    expect(await page.evaluate(() => location.hash)).toBe('');
  }));

test('equal layers are drawn once, with their count and what passes inside', () =>
  onPageOf(browser, four, async (page) => {
    expect(await page.locator('#graph .box').count()).toBe(6);
    expect(await page.locator('.run').count()).toBe(1);
    expect(await page.locator('.times').textContent()).toBe('× 4');
    expect(await box(page, 3).innerText()).toContain('smem');
    expect(await page.locator('.arc').count()).toBe(2);
    expect(await box(page, 3).locator('.share').innerText()).toBe('42 %');
  }));

test('the address names a group, of a later copy too, and its box is in sight', () =>
  onPageOf(
    browser,
    network({ ...kFourLayers, layers: 2 }),
    async (page) => {
      await selectedEverywhere(page, 8, 8);
      const { top, bottom, low, high } = await page.evaluate(() => {
        const [scroll, b] = ['.graph', '.box.selected'].map((s) => document.querySelector(s)?.getBoundingClientRect());
        return { top: scroll?.top ?? 0, bottom: scroll?.bottom ?? 0, low: b?.top ?? -1, high: b?.bottom ?? -1 };
      });
      expect(low).toBeGreaterThanOrEqual(top);
      expect(high).toBeLessThanOrEqual(bottom);
    },
    { hash: '#group=8' },
  ));

test('keys alone go from box to box', () =>
  onPageOf(browser, four, async (page) => {
    await box(page, 0).focus();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowDown');
    const at = await page.evaluate(() => (document.activeElement as HTMLElement).dataset['box']);
    expect(at).toBe('1');
    await selectedEverywhere(page, 1, 1);
    await page.keyboard.press('End');
    await selectedEverywhere(page, 5, 17);
    await page.keyboard.press('ArrowUp');
    await selectedEverywhere(page, 4, 4);
    expect(await page.locator('.box[tabindex="0"]').count()).toBe(1);
  }));

test('the table sorts by any column, both ways', () =>
  onPageOf(browser, four, async (page) => {
    expect((await rows(page))[0]).toBe(3); // the longest
    const titles = await page.locator('#groups thead button').allInnerTexts();
    expect(titles).toContain("model's error");
    for (const [i, title] of titles.entries()) {
      await page.locator('#groups thead button').nth(i).click();
      expect(await page.locator('#groups th[aria-sort$=scending]').allInnerTexts()).toEqual([title]);
      expect([...(await rows(page))].sort((a, b) => a - b)).toEqual([0, 1, 2, 3, 4, 5]);
    }
    const group = page.locator('#groups thead button').first();
    await group.click();
    expect(await rows(page)).toEqual([0, 1, 2, 3, 4, 5]);
    await group.click();
    expect(await rows(page)).toEqual([5, 4, 3, 2, 1, 0]);
  }));

test('the filter keeps rows and greys boxes; a part of a bar writes it', () =>
  onPageOf(browser, four, async (page) => {
    const filter = page.getByRole('searchbox');
    await filter.fill('softmax');
    expect((await rows(page)).sort()).toEqual([3, 5]);
    expect(await page.locator('.box.out').count()).toBe(4);
    await filter.fill('share > many');
    await page.keyboard.press('Enter');
    expect(await filter.getAttribute('aria-invalid')).toBe('true');
    expect(await page.locator('#bar .wrong').innerText()).toContain('is no number');
    await page.locator('.shares[data-by="bound by"]').getByRole('button', { name: 'launch' }).click();
    expect(await filter.inputValue()).toBe('bound by = launch');
    expect(await rows(page)).toEqual([5]);
    await page.locator('.shares[data-by="bound by"]').getByRole('button', { name: 'launch' }).click();
    expect(await rows(page)).toHaveLength(6);
  }));

test('simulated times are another colouring', () =>
  onPageOf(browser, four, async (page) => {
    const share = () => box(page, 1).locator('.share').innerText();
    const before = await share();
    await page.getByLabel('times').selectOption('simulated');
    expect(await share()).not.toBe(before);
    expect(await page.locator('#kinds h2').innerText()).toBe('Where the simulated time goes');
  }));

for (const scheme of ['light', 'dark'] as const)
  test(`texts of boxes are read in ${scheme}`, () =>
    onPageOf(
      browser,
      network({ ...kFourLayers, failed: true, simulated: false }),
      async (page) => {
        const worst = await page.locator('.box').evaluateAll((boxes) => {
          const luminance = (colour: string) => {
            const [r, g, b] = (colour.match(/\d+/g) ?? []).map((x) => {
              const c = Number(x) / 255;
              return c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
            }) as [number, number, number];
            return 0.2126 * r + 0.7152 * g + 0.0722 * b;
          };
          const contrast = boxes.map((b) => {
            const { color, backgroundColor } = getComputedStyle(b);
            const [x, y] = [luminance(color), luminance(backgroundColor)];
            return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05);
          });
          return Math.min(...contrast);
        });
        expect(worst).toBeGreaterThan(4.5);
        expect(await box(page, 5).innerText()).toContain('no time');
        expect(await page.getByLabel('times').count()).toBe(0);
      },
      { scheme },
    ));

test('a network of views alone is a page too', () => {
  const report = network(kFourLayers);
  const none = { groups: 0, without_time: 0, kernels: 0, predicted_us: 0, dram_bytes: 0, intermediate_bytes: 0 };
  const total = { ...none, speed_of_light_us: 0 };
  report.network = { ...report.network, groups: [], runs: [], tensors: [], total, unfused: total };
  return onPageOf(browser, report, async (page) => {
    expect(await page.locator('#counts').innerText()).toContain('Nothing runs');
    expect(await page.locator('#graph .absent').count()).toBe(1);
    expect(await rows(page)).toEqual([]);
  });
});

test('nothing is wider than the window', () =>
  onPageOf(
    browser,
    four,
    async (page) => {
      const [wide, window] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
      expect(wide).toBeLessThanOrEqual(window ?? 0);
    },
    { width: 800 },
  ));

test.skipIf(kProgram === '')('the page of a network shows what its document says', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tilescope-network-'));
  const run = (...args: string[]) => execFileSync(kProgram, args, { cwd: folder, stdio: 'pipe' }).toString();
  try {
    run('network', 'bert-base', '--size', 'layers=4,seq=32', '--arch', 'v100', '-o', 'bert', '--jobs', '1');
    run('report', 'bert/network.json', '-o', 'bert.html');
    const n = JSON.parse(readFileSync(join(folder, 'bert/network.json'), 'utf8')) as Network;
    const opened = await Opened.open(browser, readFileSync(join(folder, 'bert.html'), 'utf8'));
    try {
      const { page } = opened;
      expect(await page.locator('h1').innerText()).toBe('bert-base on v100');
      expect(await page.locator('#totals tbody tr').nth(1).innerText()).toContain(time(n.total.predicted_us));
      const boxes = await page.locator('#graph .box').count();
      expect(boxes).toBeLessThan(n.groups.length);
      expect(Number(await page.locator('#groups').getAttribute('data-rows'))).toBe(boxes);
      expect(await page.locator('.arc').count()).toBeGreaterThan(0);
      expect(opened.complaints).toEqual([]);
    } finally {
      await opened.close();
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
});
