// SPDX-License-Identifier: Apache-2.0
// The roofline as a person reads it: hover or walk to a kernel, look from another level, open its program.

import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Browser, Page } from 'playwright-core';

import { rooflineOf } from '../../src/roofline';
import { State } from '../../src/state';
import { kSmall, sample, workOf } from '../sample';
import { launch, onPageOf } from './page';

let browser: Browser;
beforeAll(async () => {
  browser = await launch();
});
afterAll(() => browser.close());

const report = sample(kSmall);
const said = (page: Page) => page.locator('#roofline .hint').innerText();

/** Where the kernel of an operator stands in the window. */
async function placeOf(page: Page, chip: number, operator: number, level = 'dram'): Promise<{ x: number; y: number }> {
  const kernel = rooflineOf(new State(report), chip, level).kernels.find((k) => k.operator === operator);
  await page.locator('[data-chart=roofline]').scrollIntoViewIfNeeded();
  return page.evaluate(
    (value) => {
      const chart = window.tilescope?.drawings.get('roofline');
      const [x, y] = chart?.convertToPixel({ xAxisIndex: 0, yAxisIndex: 0 }, value) ?? [0, 0];
      const box = chart?.getDom().getBoundingClientRect() ?? new DOMRect();
      return { x: box.x + (x ?? 0), y: box.y + (y ?? 0) };
    },
    [kernel?.intensity ?? 0, kernel?.rate ?? 0],
  );
}

test('a kernel that is hovered says its name, its time and what binds it', () =>
  onPageOf(
    browser,
    report,
    async (page) => {
      expect(await page.locator('#roofline').getAttribute('data-points')).toBe('4');
      const { x, y } = await placeOf(page, 7, 3);
      await page.mouse.move(x, y);
      const card = page.locator('[data-chart=roofline] .card');
      await card.waitFor();
      const text = await card.innerText();
      const us = report.rows.predicted_us[4 * 7 + 3] as number;
      expect(text).toContain('E3');
      expect(text).toContain('bound by\tdram');
      expect(text).toContain(`${Number((workOf(3).flop / 1e9).toPrecision(4))} GFLOP`);
      expect(text).toContain(`of what the two allow\t${Number((((us - 2) / us) * 100).toPrecision(3))} %`);
    },
    { hash: '#chip=7' },
  ));

test('a click opens the program of a kernel, and the address keeps it', () =>
  onPageOf(
    browser,
    report,
    async (page) => {
      const { x, y } = await placeOf(page, 7, 1);
      await page.mouse.click(x, y);
      expect(await page.evaluate(() => location.hash)).toBe('#chip=7&program=C2');
      expect(await page.locator('.programs h3').innerText()).toBe('Best program of C2');
      expect(await said(page)).toMatch(/^C2: .* of the time, bound by /);
      await page.evaluate(() => (location.hash = '#chip=3'));
      await page.waitForFunction(() => document.querySelector('.programs h3')?.textContent === 'Best program of M0');
      await page.goBack();
      await page.waitForFunction(() => document.querySelector('.programs h3')?.textContent === 'Best program of C2');
    },
    { hash: '#chip=7' },
  ));

test('arrow keys go from kernel to kernel by intensity, from each level', () =>
  onPageOf(browser, report, async (page) => {
    await page.locator('#chips tbody tr[data-chip="7"] button').click();
    await page.locator('[data-chart=roofline]').focus();
    const walked = [];
    for (let i = 0; i < 4; ++i) {
      await page.keyboard.press(i === 0 ? 'ArrowLeft' : 'ArrowRight');
      for (let j = 0; i === 0 && j < 3; ++j) await page.keyboard.press('ArrowLeft');
      walked.push((await said(page)).split(':')[0]);
    }
    const kernels = rooflineOf(new State(report), 7, 'dram').kernels.sort((a, b) => a.intensity - b.intensity);
    expect(walked).toEqual(kernels.map((k) => report.operators.id[k.operator]));
    await page.getByLabel('bytes of').selectOption('smem');
    expect(await page.evaluate(() => location.hash)).toContain('roofline=smem');
    expect(await said(page)).toContain('fma.f32 and smem allow');
  }));

test('without a chip it says how to get one', () =>
  onPageOf(
    browser,
    report,
    async (page) => {
      expect(await page.locator('#roofline .absent').innerText()).toContain('Select a chip');
      expect(await page.locator('[data-chart=roofline]').isVisible()).toBe(false);
      await page.locator('#chips tbody tr').first().click();
      expect(await page.locator('[data-chart=roofline]').isVisible()).toBe(true);
    },
    { hash: '#chip=none' },
  ));

test('a report of an older document has none', () => {
  const { work: _, ...rows } = report.rows;
  return onPageOf(browser, { ...report, rows }, async (page) => {
    expect(await page.locator('#roofline').count()).toBe(0);
  });
});
