// SPDX-License-Identifier: Apache-2.0
// A multi-fidelity sweep, on the page: the ratio with its n, the simulated chips, and who is faster than the selected
// one, compared with the document's intervals.

import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Browser } from 'playwright-core';

import { multi_fidelity, kSmall, sample } from '../sample';
import { filled, launch, Opened } from './page';

let browser: Browser;
beforeAll(async () => {
  browser = await launch();
});
afterAll(() => browser.close());

test('the page says which simulated chips are faster than the selected one, beyond the band alone', async () => {
  const report = multi_fidelity();
  const e = report.multi_fidelity;
  if (!e) throw new Error('it is multi-fidelity');
  const chip = e.simulated[4]?.point ?? 0;
  const opened = await Opened.open(browser, filled(report), { hash: `#chip=${chip}` });
  try {
    const { page } = opened;
    expect(await page.locator('#ratio').innerText()).toContain(`n ${e.ratio.n} of ${e.ratio.population}`);
    const rows = page.locator('#multi_fidelity tbody tr');
    expect(await rows.count()).toBe(e.simulated.length);
    for (const [i, s] of e.simulated.entries()) {
      const word =
        s.point === chip
          ? ''
          : (e.chips.high_us[s.point] as number) < (e.chips.low_us[chip] as number)
            ? 'faster'
            : (e.chips.high_us[chip] as number) < (e.chips.low_us[s.point] as number)
              ? 'slower'
              : 'within the band';
      expect(await rows.nth(i).locator('td').last().innerText()).toBe(word);
    }
    await rows.first().locator('button').click();
    expect(await page.evaluate(() => location.hash)).toBe(`#chip=${e.simulated[0]?.point}`);
    const rings = await page.evaluate(() => {
      const option = window.tilescope?.drawings.get('front')?.getOption() as { series: { name: string; data: [] }[] };
      return option.series.find((s) => s.name === 'simulated')?.data.length;
    });
    expect(rings).toBe(report.counts.chips); // the sample has a simulated time of every chip
    expect(opened.complaints).toEqual([]);
  } finally {
    await opened.close();
  }
});

test('a sweep of one evaluator has no such part', async () => {
  const opened = await Opened.open(browser, filled(sample(kSmall)));
  try {
    expect(await opened.page.locator('#multi_fidelity').count()).toBe(0);
    expect(opened.complaints).toEqual([]);
  } finally {
    await opened.close();
  }
});
