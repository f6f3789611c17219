// SPDX-License-Identifier: Apache-2.0
// The reasons behind numbers, as a person asks for them: where a figure comes from, what matters, where the time of a
// network goes; and everything that is chosen is in the link.

import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Browser, Page } from 'playwright-core';

import type { Report } from '../../src/data';
import { explained } from '../explained';
import { kSmall } from '../sample';
import { launch, onPageOf, type Look } from './page';

let browser: Browser;
beforeAll(async () => {
  browser = await launch();
});
afterAll(() => browser.close());

const report = explained({
  ...kSmall,
  networks: [
    { name: 'bert', operators: [0, 3] },
    { name: 'mix', operators: [1, 2] },
  ],
});
const onPage = (run: (page: Page) => Promise<void>, look: Partial<Look> = {}, of: Report = report) =>
  onPageOf(browser, of, run, look);
const hash = (page: Page) => page.evaluate(() => decodeURIComponent(location.hash));

test('a figure says its mark and its source, one that the sweep has set what it was', () =>
  onPage(
    async (page) => {
      const sources = page.locator('#sources');
      const text = await sources.innerText();
      expect(text).toContain('Of 9 figures of v100, 4 are [D] data sheet or manual, or arithmetic on it');
      const dram = sources.locator('[data-part="memory.dram"]');
      expect(await dram.locator('caption').innerText()).toMatch(/^memory.dram, binds [\d.]+ % of the time$/);
      expect(await dram.locator('tr', { hasText: 'queue_depth' }).innerText()).toBe(
        'queue_depth\t32\t[E]\tnot published: as DRAMsim3 has it',
      );
      expect(await sources.locator('[data-kind=matmul]').innerText()).toBe(
        'matmul\t1\t0.84 to 1.12\t400\tmatmul: half of the shapes of Ansor',
      );
      const banks = report.chips.axis[1]?.findIndex((v, c) => c > 0 && v === 0);
      await page.evaluate((c) => (location.hash = `#chip=${c}`), banks);
      const row = sources.locator('tr', { hasText: 'instead of 32' });
      await row.waitFor({ state: 'attached' });
      expect(await row.textContent()).toContain('16 instead of 32');
    },
    { hash: '#chip=0' },
  ));

test('a file that has changed since, or is gone, is said to be', async () => {
  const changed = { ...report, bases: report.bases?.map((b) => ({ ...b, as_swept: false })) } as Report;
  await onPage(
    async (page) => {
      expect(await page.locator('#sources .wrong').innerText()).toContain('another one than the sweep has read');
    },
    {},
    changed,
  );
  const gone = { ...report, bases: report.bases?.map((b) => ({ ...b, figures: [] })) } as Report;
  await onPage(
    async (page) => {
      expect(await page.locator('#sources .absent').first().innerText()).toContain('is not there any more');
      expect(await page.locator('#sources [data-kind=matmul]').count()).toBe(1);
    },
    {},
    gone,
  );
});

test('what matters: an objective is chosen, its axes are bars, a step is a swing', () =>
  onPage(async (page) => {
    const view = page.locator('#sensitivity');
    expect(await view.locator('.bar[data-axis="core.count"]').first().getAttribute('aria-label')).toBe(
      'core.count: alone 0.62 (0.57 to 0.67), with all that it does with others 0.7 (0.66 to 0.74)',
    );
    const width = (await view.locator('.bar[data-axis="core.count"] i.total').boundingBox())?.width ?? 0;
    const bar = (await view.locator('.bar[data-axis="core.count"]').first().boundingBox())?.width ?? 1;
    expect(width / bar).toBeCloseTo(0.7, 2);
    expect(await view.locator('.swing').count()).toBe(2);
    expect(await view.locator('.swing').first().getAttribute('aria-label')).toBe('smem.banks: -42.6 % from 16 to 64');
    await view.getByLabel('objective').selectOption('area');
    expect(await hash(page)).toContain('sensitivity=area');
    expect(await view.locator('.swing').first().getAttribute('aria-label')).toMatch(/^core.count: \+50.5 % from/);
  }));

test('a network is a line of its operators, on the chip and on its base, to one scale', () =>
  onPage(
    async (page) => {
      const tracks = page.locator('#timeline .stacked');
      expect(await tracks.count()).toBe(2);
      const us = (chip: number, i: number) =>
        (report.rows.predicted_us[4 * chip + i] as number) * (report.operators.weight[i] as number);
      const most = Math.max(us(0, 0) + us(0, 3), us(7, 0) + us(7, 3));
      const whole = (await tracks.first().locator('.stack').boundingBox())?.width ?? 1;
      for (const [track, chip] of [0, 7].entries())
        for (const operator of [0, 3]) {
          const piece = tracks.nth(track).locator(`[data-operator="${operator}"]`);
          expect(((await piece.boundingBox())?.width ?? 0) / whole).toBeCloseTo(us(chip, operator) / most, 2);
        }
      await tracks.first().locator('[data-operator="3"]').click();
      expect(await page.locator('#timeline .hint').innerText()).toMatch(
        /^E3\. base, chip 0: .* bound by dram; chip 7: /,
      );
      expect(await page.locator('.programs h3').innerText()).toBe('Best program of E3');
      await page.locator('.timeline').focus();
      await page.keyboard.press('ArrowLeft');
      expect(await page.locator('.programs h3').innerText()).toBe('Best program of M0');
      await page.locator('#timeline').getByLabel('network').selectOption('mix');
      expect(await hash(page)).toContain('timeline=mix');
      expect(await tracks.first().locator('[data-operator="1"]').count()).toBe(1);
    },
    { hash: '#chip=7' },
  ));

test('the network that all drawings show is the one of the timeline', () =>
  onPage(
    async (page) => {
      expect(await page.locator('#timeline [data-operator="1"]').count()).toBe(2);
      await page.locator('#timeline').getByLabel('network').selectOption('bert');
      expect(await hash(page)).toContain('network=bert');
    },
    { hash: '#chip=7&network=mix' },
  ));

test('all choices of views are in the link, and the link shows them again', () =>
  onPage(async (page) => {
    const heat = page.locator('#heatmap');
    await heat.getByLabel('down').selectOption('clock');
    await heat.getByLabel('across').selectOption('core.count');
    await heat.getByLabel('memory.smem.banks').selectOption('64');
    await page.locator('#binding').getByLabel('along').selectOption('clock');
    await page.locator('#scatter').getByLabel('kind').selectOption('conv');
    await page.locator('#scatter').getByLabel('of', { exact: true }).selectOption('the selected chip');
    await page.locator('#roofline').getByLabel('bytes of').selectOption('smem');
    await page.locator('#chips thead button', { hasText: 'energy' }).click();
    await page.locator('#chips thead button', { hasText: 'energy' }).click();
    const link = await hash(page);
    for (const said of [
      'heat_down=clock',
      'heat_across=core.count',
      'heat_memory.smem.banks=64',
      'bound_along=clock',
      'scatter_kind=conv',
      'scatter_of=the selected chip',
      'roofline=smem',
      'sort=-energy',
    ])
      expect(link).toContain(said);
    const seen = () =>
      page.evaluate(() => [
        document.querySelector('#heatmap .heat')?.textContent,
        document.querySelector('#binding .note')?.textContent,
        document.querySelector('#scatter .note')?.textContent,
        document.querySelector('#roofline .note')?.textContent,
        document.querySelector('#chips tbody')?.textContent,
        [...document.querySelectorAll('select')].map((s) => s.selectedOptions[0]?.textContent).join('|'),
      ]);
    const [before, encoded] = [await seen(), await page.evaluate(() => location.hash)];
    await page.evaluate(() => (location.hash = '#chip=3'));
    await page.waitForFunction(() => document.querySelector('#selection strong')?.textContent === 'chip 3');
    const opened = await seen();
    for (const i of [0, 1, 2, 3, 4, 5]) expect(opened[i]).not.toBe(before[i]);
    await page.evaluate((to) => (location.hash = to), encoded);
    await page.waitForFunction((to) => location.hash === to, encoded);
    expect(await seen()).toEqual(before);
  }));

test('an address that names one axis twice, or none that there is, has another one', () =>
  onPage(
    async (page) => {
      const heat = page.locator('#heatmap');
      expect(await heat.getByLabel('down').inputValue()).toBe('1');
      expect(await heat.getByLabel('across').inputValue()).toBe('0');
      expect(await hash(page)).not.toContain('bogus');
    },
    { hash: '#chip=3&heat_down=memory.smem.banks&heat_across=memory.smem.banks&bogus=1&sort=nothing&roofline=l9' },
  ));
