// SPDX-License-Identifier: Apache-2.0
// A sweep with objectives and budgets, decided as a person does it: read the sentence, weigh any two numbers, type a
// filter, brush a lane, send the link. What the page says is compared with plain loops over the document.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Browser, Page } from 'playwright-core';

import type { Column, Report } from '../../src/data';
import type { Choice } from '../../src/state';
import { decided } from '../decided';
import { kSmall, range, sample } from '../sample';
import { launch, onPageOf, Opened, type Look } from './page';

let browser: Browser;
beforeAll(async () => {
  browser = await launch();
});
afterAll(() => browser.close());

const onPage = (report: Report, run: (page: Page, opened: Opened) => Promise<void>, look: Partial<Look> = {}) =>
  onPageOf(browser, report, run, look);

const column = (r: Report, name: string): Column =>
  [...(r.objectives ?? []), ...r.chips.quantities].find((o) => o.name === name)?.values ?? [];

const kept = (r: Report, chip: number): boolean => r.chips.violation?.[chip] === 0;

/** By comparing all pairs of chips that keep to the budgets. */
function frontOf(r: Report, x: Column, y: Column, xMore = false): number[] {
  const chips = range(r.counts.chips, (c) => c).filter((c) => kept(r, c));
  const a = (c: number) => (xMore ? -1 : 1) * (x[c] as number);
  const b = (c: number) => y[c] as number;
  const beats = (i: number, j: number) => a(i) <= a(j) && b(i) <= b(j) && (a(i) < a(j) || b(i) < b(j) || i < j);
  return chips.filter((j) => !chips.some((i) => beats(i, j)));
}

const least = (r: Report, of: Column, among: (chip: number) => boolean): number =>
  range(r.counts.chips, (c) => c)
    .filter((c) => among(c) && of[c] !== null)
    .reduce((best, c) => (best < 0 || (of[c] as number) < (of[best] as number) ? c : best), -1);

const plain = (text: string) => text.replaceAll('\u00a0', ' ');
const sentence = async (page: Page) => plain(await page.locator('#headline .said').innerText());
const hash = (page: Page) => page.evaluate(() => location.hash);
const filter = (page: Page) => page.getByLabel('filter of chips');
const drawn = async (page: Page) =>
  ((await page.locator('#front').getAttribute('data-front')) ?? '')
    .split(' ')
    .map(Number)
    .sort((a, b) => a - b);

/** Where a datum of the front stands in the window. */
async function place(page: Page, at: [number, number]): Promise<{ x: number; y: number }> {
  await page.locator('[data-chart=front]').scrollIntoViewIfNeeded();
  return page.evaluate((value) => {
    const chart = window.tilescope?.drawings.get('front');
    const [x, y] = chart?.convertToPixel({ xAxisIndex: 0, yAxisIndex: 0 }, value) ?? [0, 0];
    const box = chart?.getDom().getBoundingClientRect() ?? new DOMRect();
    return { x: box.x + (x ?? 0), y: box.y + (y ?? 0) };
  }, at);
}

async function pixel(page: Page, at: { x: number; y: number }): Promise<number[]> {
  return page.evaluate(({ x, y }) => {
    const canvas = document.querySelector<HTMLCanvasElement>('[data-chart=front] canvas');
    const box = canvas?.getBoundingClientRect() ?? new DOMRect();
    const scale = (canvas?.width ?? 1) / box.width;
    const data = canvas?.getContext('2d')?.getImageData((x - box.x) * scale, (y - box.y) * scale, 1, 1).data;
    return [...(data ?? [])];
  }, at);
}

describe('the headline', () => {
  const report = decided(kSmall);
  const time = column(report, 'time');

  test('names the best chip within the budget, what it changes, by how much, and how sure that is', () =>
    onPage(report, async (page) => {
      const best = least(report, time, (c) => kept(report, c));
      const text = await sentence(page);
      expect(text).toMatch(
        new RegExp(`^Chip ${best}, with clock 1.6 GHz instead of 1.38 GHz, has the least predicted`),
      );
      expect(text).toContain('of 25 chips within area ≤ 600 mm², power ≤ 300 W and price ≤ $5,000');
      const by = 100 * (1 - (time[best] as number) / (time[0] as number));
      expect(text).toContain(`${by.toPrecision(3)} % less than the 3.468 ms of its base`);
      // Operator 0 of each chip has the first band, the others the second.
      const ends = [report.rows.band.low_ratio, report.rows.band.high_ratio].map((ratios) =>
        range(4, (i) => i).reduce(
          (sum, i) =>
            sum +
            (report.rows.predicted_us[best * 4 + i] as number) *
              (report.operators.weight[i] as number) *
              (ratios[i === 0 ? 0 : 1] as number),
          0,
        ),
      );
      expect(text).toContain(`it is ${ends.map((us) => `${Number((us / 1000).toPrecision(4))} ms`).join(' to ')}`);
      expect(text).toContain('so the two are not told apart');
      expect(await page.locator('#headline .note').innerText()).toBe(
        '25 of 46 chips keep to the budget, 21 do not. Show those within it alone',
      );
      await page.locator('#chips tbody tr').last().click();
      await page.locator('#headline .said button').click();
      expect(await hash(page)).toBe(`#chip=${best}`);
    }));

  test('leads to the chips within the budget alone', () =>
    onPage(report, async (page) => {
      await filter(page).fill('clock > 1.3 GHz');
      await page.getByRole('button', { name: 'show those within it alone' }).click();
      expect(await filter(page).inputValue()).toBe('clock > 1.3 GHz, beyond budget <= 0');
      const left = range(46, (c) => c).filter((c) => kept(report, c) && report.chips.axis[2]?.[c] !== 0);
      expect(await page.locator('#chips').getAttribute('data-rows')).toBe(String(left.length));
      expect(await page.getByRole('button', { name: 'show those within it alone' }).count()).toBe(0);
    }));

  test('is about what the filter leaves', () =>
    onPage(report, async (page) => {
      await filter(page).fill('smem.banks = 64, price < $3,000');
      const best = least(
        report,
        time,
        (c) => kept(report, c) && report.chips.axis[1]?.[c] === 2 && (column(report, 'price')[c] as number) < 3000,
      );
      expect(await sentence(page)).toMatch(new RegExp(`^Chip ${best}, .* that the filter leaves within area`));
      await filter(page).fill('price < $1');
      expect(await sentence(page)).toBe('The filter leaves no chip.');
    }));

  test('names the nearest miss where no chip keeps to the budget', () => {
    const strict = decided(kSmall, { area: 100, power: 10, price: 100 });
    const nearest = least(strict, strict.chips.violation ?? [], () => true);
    return onPage(strict, async (page) => {
      const text = await sentence(page);
      expect(text).toContain('No chip keeps to area ≤ 100 mm², power ≤ 10 W and price ≤ $100');
      expect(text).toContain(`the nearest miss is chip ${nearest}`);
      expect(await page.locator('#front').getAttribute('data-front')).toBe('');
    });
  });

  test('does not count chips of which figures are missing', () => {
    const gaps = decided(kSmall, { area: 600, power: 300, price: 5000 }, true);
    return onPage(gaps, async (page) => {
      expect(await page.locator('#headline .note').innerText()).toContain('of 9 that is not known');
      const unknown = gaps.chips.violation?.indexOf(null);
      await page.locator(`#chips tr[data-chip="${unknown}"]`).click();
      expect(await page.locator('#parts [data-whole=price]').innerText()).toContain(': unknown');
      expect(await page.locator('#parts [data-whole=price] tfoot').innerText()).toMatch(/^all\t\$[\d,]+\tunknown\t$/);
    });
  });

  test('says that there is no band, and that there are no budgets', () => {
    const bare = sample(kSmall);
    bare.rows.band = { low_ratio: [], high_ratio: [], codes: bare.rows.predicted_us.map(() => null) };
    return onPage(bare, async (page) => {
      expect(await sentence(page)).toMatch(/of 46 chips: .* less than .*; no band says how sure that is: none holds/);
      expect(await page.locator('#parts').count()).toBe(0);
      expect(await page.locator('#headline table').count()).toBe(0);
    });
  });
});

describe('any two numbers against each other', () => {
  const report = decided(kSmall);
  const [time, area, energy, price] = ['time', 'area', 'energy', 'price'].map((n) => column(report, n)) as [
    Column,
    Column,
    Column,
    Column,
  ];

  test('the front of time and area keeps to the budget, which is a line; chips beyond it are hollow', () =>
    onPage(report, async (page) => {
      const front = frontOf(report, area, time);
      expect(await drawn(page)).toEqual(front);
      const [, filled] = front as [number, number];
      const solid = await place(page, [area[filled] as number, time[filled] as number]);
      expect(await pixel(page, solid)).toEqual([0, 0x64, 0xa6, 255]);
      const hollow = least(report, time, (c) => !kept(report, c));
      const at = await place(page, [area[hollow] as number, time[hollow] as number]);
      expect((await pixel(page, at))[3]).toBe(0);
      expect((await pixel(page, { x: at.x - 3.5, y: at.y }))[3]).toBeGreaterThan(100);
      // The budget is dashed: along some pixels of it there is ink.
      const line = await place(page, [600, time[filled] as number]);
      const inks = await Promise.all(range(12, (i) => pixel(page, { x: line.x, y: line.y - 60 - i })));
      expect(
        inks.filter(([red = 0, green = 255, , alpha = 0]) => alpha > 100 && red > 180 && green < 160).length,
      ).toBeGreaterThan(3);
      expect(await page.locator('#front > .note').innerText()).toContain(
        'Hollow: 21 chips that do not keep to the budget. Dashed: a budget.',
      );
    }));

  test('the reader chooses both, and what is better of a number that the sweep does not judge', () =>
    onPage(report, async (page) => {
      const front = page.locator('#front');
      await front.getByLabel('across', { exact: true }).selectOption('price');
      await front.getByLabel('up', { exact: true }).selectOption('energy');
      expect(await drawn(page)).toEqual(frontOf(report, price, energy));
      expect(await front.getByLabel('better across is').count()).toBe(0);
      await front.getByLabel('across', { exact: true }).selectOption('peak f32');
      await front.getByLabel('better across is').selectOption('more');
      const peak = column(report, 'peak f32');
      expect(await drawn(page)).toEqual(frontOf(report, peak, energy, true));
      // From left to right, whichever way is better.
      const walk = ((await front.getAttribute('data-front')) ?? '').split(' ').map(Number);
      expect(walk).toEqual([...walk].sort((a, b) => (peak[a] as number) - (peak[b] as number)));
      await page.locator('[data-chart=front]').focus();
      await page.keyboard.press('ArrowRight');
      const first = /#chip=(\d+)/.exec(await hash(page));
      expect(walk).toContain(Number(first?.[1]));
      // An axis that is chosen for the other one changes places with it.
      await front.getByLabel('up', { exact: true }).selectOption('peak f32');
      expect(await front.getByLabel('across', { exact: true }).inputValue()).toBe('1');
    }));

  test('whiskers are the band of a time', () =>
    onPage(report, async (page) => {
      const series = () =>
        page.evaluate(() => {
          const option = window.tilescope?.drawings.get('front')?.getOption() as {
            series: { name: string; data: [] }[];
          };
          return option.series.find((s) => s.name === 'interval')?.data.length ?? 0;
        });
      // The front, and the base, which is not on it.
      expect(await series()).toBe(frontOf(report, area, time).length + 1);
      await page.locator('#front').getByLabel('up', { exact: true }).selectOption('energy');
      expect(await series()).toBe(0);
    }));
});

describe('what is chosen is in the address', () => {
  const report = decided({ ...kSmall, networks: [{ name: 'nerf', operators: [3] }] });

  test('a filter acts as it is typed, and says what is wrong only to who has left it', () =>
    onPage(report, async (page) => {
      await filter(page).pressSequentially('area <= 500 mm2');
      const left = column(report, 'area').filter((v) => (v as number) <= 500).length;
      expect(await page.locator('#chips').getAttribute('data-rows')).toBe(String(left));
      expect(await hash(page)).toContain('filter=area%20%3C=%20500%20mm2');
      await page.keyboard.type(', pri');
      expect(await page.locator('#bar .wrong').count()).toBe(0);
      expect(await page.locator('#chips').getAttribute('data-rows')).toBe(String(left));
      await page.keyboard.press('Tab');
      expect(await page.locator('#bar .wrong').innerText()).toContain("'pri' is no condition");
    }));

  test('a reload and a colleague see the same', () =>
    onPage(report, async (page, opened) => {
      await filter(page).fill('area <= 700 mm2, core.count = 60|80');
      await page.locator('#front').getByLabel('across', { exact: true }).selectOption('peak f32');
      await page.locator('#front').getByLabel('better across is').selectOption('more');
      await page.locator('#front').getByLabel('up', { exact: true }).selectOption('energy');
      await page.locator('#bar').getByLabel('times').selectOption('simulated');
      await page.locator('#bar').getByLabel('operators').selectOption('D0');
      await page.locator('#chips tbody tr').nth(4).click();
      const state = () =>
        page.evaluate(() => {
          const { shown, ...others } = { ...window.tilescope?.state.get() } as Choice;
          return { ...others, shown: shown.join(' ') };
        });
      const [before, link] = [await state(), await hash(page)];
      await page.reload();
      await page.waitForFunction(() => performance.getEntriesByName('tilescope-complete').length > 0);
      expect(await state()).toEqual(before);
      expect(await hash(page)).toBe(link);
      expect(await page.locator('#bar').getByLabel('operators').locator('option:checked').innerText()).toBe('D0');
      // A link that is pasted into the open page.
      await page.evaluate(() => (location.hash = '#chip=3'));
      await page.waitForFunction(() => document.querySelector('#selection strong')?.textContent === 'chip 3');
      expect(await filter(page).inputValue()).toBe('');
      await page.evaluate((to) => (location.hash = to), link);
      await page.waitForFunction((to) => location.hash === to, link);
      await expect.poll(state).toEqual(before);
      opened.requests.length = 1; // the reload asked for the page again
    }));

  test('no chip at all, and names that another page has, are choices too', () =>
    onPage(
      report,
      async (page) => {
        expect(await page.locator('#selection').innerText()).toBe('');
        expect(await page.locator('#chips').getAttribute('data-rows')).toBe('46');
        expect(await page.locator('#bar .wrong').innerText()).toContain("no column is called 'bogus'");
        await page.locator('.heat button').first().click();
        expect(await hash(page)).toMatch(/^#chip=\d+$/);
      },
      { hash: '#chip=none&x=nothing&times=guessed&filter=bogus%20%3E%203' },
    ));
});

test('parts of the chip stand beside those of its base, to one scale', () => {
  const report = decided(kSmall);
  return onPage(report, async (page) => {
    await page.locator('#chips tr[data-chip="45"]').click();
    for (const whole of report.chips.parts ?? []) {
      const host = page.locator(`#parts [data-whole=${whole.name}]`);
      const rows = await host.locator('tbody tr').allInnerTexts();
      expect(rows.map((r) => r.split('\t')[0]?.trim())).toEqual(whole.parts.map((p) => p.name));
      const last = whole.parts.at(-1)?.values ?? [];
      expect(rows.at(-1)).toContain(`${((last[45] as number) / (last[0] as number)).toPrecision(3)}x`);
      const all = (chip: number) => whole.parts.reduce((sum, p) => sum + (p.values[chip] as number), 0);
      const bars = await host
        .locator('.stack')
        .evaluateAll((found) =>
          found.map((bar) => [...bar.children].reduce((sum, i) => sum + i.getBoundingClientRect().width, 0)),
        );
      expect((bars[1] ?? 0) / (bars[0] ?? 1)).toBeCloseTo(all(45) / all(0), 1);
    }
    await page.locator('#chips tr[data-chip="0"]').click();
    expect(await page.locator('#parts [data-whole=area] .stack').count()).toBe(1);
  });
});

describe('parallel coordinates', () => {
  const report = decided(kSmall);
  const lane = (page: Page, name: string) => page.locator(`#parallel [data-lane="${name}"]`);

  for (const width of [1400, 390])
    test(`a range that is dragged is in the filter line, at ${width} pixels`, () =>
      onPage(
        report,
        async (page) => {
          await page.locator('#parallel').scrollIntoViewIfNeeded();
          const drag = async (name: string, from: number, to: number) => {
            const box = await lane(page, name).locator('.range').boundingBox();
            if (!box) throw new Error('the lane is not there');
            const at = (p: number): [number, number] =>
              width > 1000
                ? [box.x + box.width / 2, box.y + box.height * (1 - p)]
                : [box.x + box.width * p, box.y + box.height / 2];
            await page.mouse.move(...at(from));
            await page.mouse.down();
            await page.mouse.move(...at((from + to) / 2), { steps: 3 });
            await page.mouse.move(...at(to));
            await page.mouse.up();
          };
          await drag('core.count', 0.2, 0.8);
          expect(await filter(page).inputValue()).toBe('core.count >= 60, core.count <= 100');
          await drag('area', 0.05, 0.5);
          expect(await filter(page).inputValue()).toMatch(
            /^core.count >= 60, core.count <= 100, area >= \d+ mm2, area <= \d+ mm2$/,
          );
          const [low = 0, high = 0] = [...(await filter(page).inputValue()).matchAll(/(\d+) mm2/g)].map((m) =>
            Number(m[1]),
          );
          const left = range(46, (c) => c).filter((c) => {
            const [cores, mm2] = [report.chips.axis[0]?.[c] as number, column(report, 'area')[c] as number];
            return cores >= 1 && cores <= 3 && mm2 >= low && mm2 <= high;
          });
          expect(left.length).toBeGreaterThan(3);
          expect(await page.locator('#parallel').getAttribute('data-shown')).toBe(String(left.length));
          expect(await page.locator('#chips').getAttribute('data-rows')).toBe(String(left.length));
          // A click beside the range clears it.
          const box = await lane(page, 'area').locator('.range').boundingBox();
          const [x, y] = width > 1000 ? [5, 20] : [(box?.width ?? 0) - 30, 5];
          await page.mouse.click((box?.x ?? 0) + x, (box?.y ?? 0) + y);
          expect(await filter(page).inputValue()).toBe('core.count >= 60, core.count <= 100');
        },
        { width },
      ));

  test('keys move the ends of a range, and what is typed is seen on the lane', () =>
    onPage(report, async (page) => {
      await lane(page, 'smem.banks').getByRole('slider', { name: 'least smem.banks' }).focus();
      await page.keyboard.press('ArrowUp');
      expect(await filter(page).inputValue()).toBe('smem.banks >= 32');
      await page.keyboard.press('Tab');
      await page.keyboard.press('ArrowDown');
      expect(await filter(page).inputValue()).toBe('smem.banks >= 32, smem.banks <= 32');
      await page.keyboard.press('Escape');
      expect(await filter(page).inputValue()).toBe('');
      await filter(page).fill('clock >= 1.38 GHz, price <= 3,000 USD');
      const low = lane(page, 'clock').getByRole('slider', { name: 'least clock' });
      expect(await low.getAttribute('aria-valuetext')).toBe('1.38 GHz');
      const high = lane(page, 'price').getByRole('slider', { name: 'most price' });
      expect(await high.getAttribute('aria-valuetext')).toBe('$3,000');
    }));

  test('values that are texts are named', () => {
    const named = decided(kSmall);
    const [axis] = named.axes;
    if (axis) Object.assign(axis, { values: ['none', 'rows', 'all', 'best', 'fixed'], numbers: range(5, () => null) });
    return onPage(named, async (page) => {
      await lane(page, 'core.count').getByRole('slider', { name: 'least' }).focus();
      for (let i = 0; i < 3; ++i) await page.keyboard.press('ArrowUp');
      expect(await filter(page).inputValue()).toBe('core.count = best|fixed');
      expect(await page.locator('#chips').getAttribute('data-rows')).toBe('18');
    });
  });
});

describe('on a phone and on paper', () => {
  const report = decided(kSmall);

  for (const scheme of ['light', 'dark'] as const)
    test(`everything is as wide as the phone, in ${scheme}`, () =>
      onPage(
        report,
        async (page) => {
          expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(390);
          const cells = await page
            .locator('.heat button')
            .evaluateAll((found) => found.map((b) => b.getBoundingClientRect()).map((b) => [b.left, b.right, b.width]));
          for (const [left = 0, right = 0, width = 0] of cells) {
            expect(left).toBeGreaterThanOrEqual(0);
            expect(right).toBeLessThanOrEqual(390);
            expect(width).toBeGreaterThan(28);
          }
          const small = await page
            .locator('body *')
            .evaluateAll((found) => found.filter((e) => Number.parseFloat(getComputedStyle(e).fontSize) < 10).length);
          expect(small).toBe(0);
          expect(await page.locator('#parallel .lying').count()).toBe(1);
        },
        { width: 390, height: 844, scheme },
      ));

  for (const [name, printed] of [
    ['objectives', decided(kSmall)],
    ['time alone', sample(kSmall)],
  ] as const)
    test(`a sweep of ${name} is two pages of paper`, () =>
      onPage(
        printed,
        async (page) => {
          const pdf = (await page.pdf({ preferCSSPageSize: true })).toString('latin1');
          expect(pdf.match(/\/Type\s*\/Page\b(?!s)/g)?.length).toBe(2);
          expect(await page.evaluate(() => document.documentElement.className)).toBe('');
        },
        { scheme: 'dark' },
      ));
});

test('stages of a program are read one under the other', () => {
  const report = sample(kSmall);
  const field = (name: string) => report.programs.fields.find((f) => f.name === name);
  const set = (name: string, texts: string[]) => Object.assign(field(name)?.texts ?? {}, { dictionary: texts });
  set('axes', ['i x j; i; i x j']);
  set('block tile', ['32x64; 32; 1x64', '64x128; 64; 1x128', '128x128; 128; 1x64']);
  set('thread tile', ['8x4; 1; 1x4', '8x8; 1; 1x4']);
  return onPage(report, async (page) => {
    const stages = await page.locator('.stages li').allInnerTexts();
    expect(stages.length).toBe(3);
    expect(stages[1]).toContain('block tile 32 → 128');
    expect(stages[2]).toContain('block tile 1x64');
    expect(stages[2]).not.toContain('→ 1x64');
    expect(await page.locator('#operators').innerText()).not.toContain('i x j; i');
  });
});
