// SPDX-License-Identifier: Apache-2.0
// The page in Debian's Chromium, opened from a file as a reader does. What it shows is compared with plain loops over
// the document.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Browser, Page } from 'playwright-core';

import type { Report } from '../../src/data';
import { decided } from '../decided';
import { kLarge, kSmall, range, sample } from '../sample';
import { filled, kMark, launch, onPageOf, Opened, type Look } from './page';

let browser: Browser;
beforeAll(async () => {
  browser = await launch();
});
afterAll(() => browser.close());

const onPage = (report: Report, run: (page: Page, opened: Opened) => Promise<void>, look: Partial<Look> = {}) =>
  onPageOf(browser, report, run, look);

type Drawing = 'front' | 'scatter' | 'binding';

/** Where a datum stands in the window: by the drawing's own axes, as a reader would follow the grid lines. */
async function place(page: Page, drawing: Drawing, at: [number | string, number]): Promise<{ x: number; y: number }> {
  await page.locator(`[data-chart=${drawing}]`).scrollIntoViewIfNeeded();
  return page.evaluate(
    ([name, value]) => {
      const chart = window.tilescope?.drawings.get(name);
      const [x, y] = chart?.convertToPixel({ xAxisIndex: 0, yAxisIndex: 0 }, value as [number, number]) ?? [0, 0];
      const box = chart?.getDom().getBoundingClientRect() ?? new DOMRect();
      return { x: box.x + (x ?? 0), y: box.y + (y ?? 0) };
    },
    [drawing, at] as const,
  );
}

/** The colour of the drawing there, on the uppermost of its canvases that has one. */
async function pixel(page: Page, drawing: Drawing, at: { x: number; y: number }): Promise<number[]> {
  return page.evaluate(
    ([name, { x, y }]) => {
      const host = window.tilescope?.drawings.get(name)?.getDom();
      const colours = [...(host?.querySelectorAll('canvas') ?? [])].map((canvas) => {
        const box = canvas.getBoundingClientRect();
        const scale = canvas.width / box.width;
        const at = [(x - box.x) * scale, (y - box.y) * scale] as const;
        return [...(canvas.getContext('2d')?.getImageData(at[0], at[1], 1, 1).data ?? [])];
      });
      return colours.reverse().find((c) => (c[3] ?? 0) > 0) ?? [0, 0, 0, 0];
    },
    [drawing, at] as const,
  );
}

const total = (r: Report, chip: number): number => r.chips.totals[0]?.total_us[chip] as number;
/** What the page opens with: an objective with a budget, else the first quantity. */
const cost = (r: Report, chip: number): number =>
  (r.objectives?.find((o) => o.name === 'area') ?? r.chips.quantities[0])?.values[chip] as number;

/** By comparing all pairs. */
function frontOf(r: Report): number[] {
  const chips = range(r.counts.chips, (c) => c).filter((c) => (r.chips.violation?.[c] ?? 0) === 0);
  const beats = (a: number, b: number) =>
    cost(r, a) <= cost(r, b) &&
    total(r, a) <= total(r, b) &&
    (cost(r, a) < cost(r, b) || total(r, a) < total(r, b) || a < b);
  return chips.filter((b) => !chips.some((a) => beats(a, b)));
}

const fastest = (r: Report): number =>
  range(r.counts.chips, (c) => c).reduce((best, c) => (total(r, c) < total(r, best) ? c : best), 0);

// The chips that the page says are on the front, ascending.
async function drawnFront(page: Page): Promise<number[]> {
  const said = (await page.locator('#front').getAttribute('data-front')) ?? '';
  return said
    .split(' ')
    .map(Number)
    .sort((a, b) => a - b);
}

async function selectedEverywhere(page: Page, chip: number): Promise<void> {
  expect(await page.evaluate(() => location.hash.split('&')[0])).toBe(`#chip=${chip}`);
  expect(await page.locator('#selection').innerText()).toContain(`chip ${chip} `);
  expect(await page.locator('#operators > .note').innerText()).toMatch(new RegExp(`^chip ${chip}:`));
  expect(await page.locator('#chips tr.selected').getAttribute('data-chip')).toBe(String(chip));
}

describe('a sweep of 45 chips', () => {
  const report = sample(kSmall);

  test('the header says what it is, the sweep file its text', () =>
    onPage(report, async (page) => {
      expect(await page.title()).toBe('A sweep of cores and banks - Tilescope');
      expect(await page.locator('#counts').innerText()).toBe(
        '45 chips, 0 of them refused, and 1 base; 4 operators. Times: 184 of 184 done, 0 failed.',
      );
      await page.locator('summary').click();
      expect(await page.locator('details pre').innerText()).toBe(report.sweep.text);
      expect(await page.locator('dl').innerText()).toContain('a test');
    }));

  test('the front is that of all pairs; its points are where the axes say', () =>
    onPage(report, async (page) => {
      const front = frontOf(report);
      expect(await drawnFront(page)).toEqual(front);
      expect(await page.locator('#front').getAttribute('data-points')).toBe('46');
      expect(await page.locator('#front > .note').innerText()).toContain(`${front.length} chips of 46 on the front`);
      for (const chip of front.filter((c) => c !== fastest(report))) {
        const at = await place(page, 'front', [cost(report, chip), total(report, chip)]);
        expect((await pixel(page, 'front', at)).slice(0, 3), `chip ${chip}`).toEqual([0, 0x64, 0xa6]);
      }
    }));

  test('a chip that is hovered says its axes, one that is clicked is selected everywhere', () =>
    onPage(report, async (page) => {
      await selectedEverywhere(page, fastest(report));
      const chip = frontOf(report)[2] as number;
      const at = await place(page, 'front', [cost(report, chip), total(report, chip)]);
      await page.mouse.move(at.x, at.y);
      const tooltip = page.locator('#front .card');
      await tooltip.waitFor();
      expect(await tooltip.innerText()).toContain(`chip ${chip} on v100`);
      for (const [i, axis] of report.axes.entries())
        expect(await tooltip.innerText()).toContain(
          `${axis.name}\t${axis.values[report.chips.axis[i]?.[chip] as number]}`,
        );
      await page.mouse.click(at.x, at.y);
      await selectedEverywhere(page, chip);
      const ring = await page.locator('#front .ring').boundingBox();
      expect((ring?.x ?? 0) + (ring?.width ?? 0) / 2).toBeCloseTo(at.x, 0);
      expect((ring?.y ?? 0) + (ring?.height ?? 0) / 2).toBeCloseTo(at.y, 0);
      expect(await page.locator('#front .ring').innerText()).toContain(`chip ${chip}: core.count 40`);
      expect(await page.locator('#scatter .ring').count()).toBe(4);
    }));

  test('the heatmap holds the fastest chip of every pair of values, relative to the base', () =>
    onPage(report, async (page) => {
      const expected = (clock: number | null) =>
        (report.axes[0]?.values ?? []).map((_, i) =>
          (report.axes[1]?.values ?? []).map((_, j) => {
            let best = Infinity;
            for (let c = 0; c < report.counts.chips; ++c) {
              const [a, b, k] = report.chips.axis.map((column) => column[c]);
              if (a === i && b === j && (clock === null || k === clock))
                best = Math.min(best, report.chips.totals[0]?.ratio[c] as number);
            }
            return best.toPrecision(3);
          }),
        );
      const shown = () =>
        page
          .locator('.heat tbody tr')
          .evaluateAll((rows) =>
            rows.map((row) => [...row.querySelectorAll('button')].map((b) => b.firstChild?.textContent)),
          );
      expect(await shown()).toEqual(expected(null));
      await page.locator('#heatmap').getByLabel('clock').selectOption('1.2 GHz');
      expect(await shown()).toEqual(expected(0));
      await page.locator('#heatmap').getByLabel('down').selectOption('memory.smem.banks');
      const turned = await shown();
      expect(turned.map((row) => row.length)).toEqual([5, 5, 5]);
      expect(turned[2]?.[1]).toBe(expected(0)[1]?.[2]);
      await page.locator('.heat button').first().click();
      await selectedEverywhere(page, Number(await page.locator('.heat button.selected').getAttribute('data-chip')));
    }));

  test('predicted over simulated: every time, its diagonal, its bands, its figures', () =>
    onPage(report, async (page) => {
      expect(await page.locator('#scatter').getAttribute('data-points')).toBe('184');
      expect(await page.locator('#scatter .absent').allInnerTexts()).toEqual(['The store holds no measured times.']);
      const rows = await page.locator('#scatter tbody tr').allInnerTexts();
      expect(rows.at(-1)?.split('\t')).toEqual(['all', '4', '7.64 %', '8.12 %', '-0.12 %', '0.987', '0.912', '83 %']);
      const row = 9 * 4 + 1;
      const at = await place(page, 'scatter', [
        report.rows.simulated_us?.[row] as number,
        report.rows.predicted_us[row] as number,
      ]);
      expect((await pixel(page, 'scatter', at))[3]).toBeGreaterThan(0);
      await page.mouse.move(at.x, at.y);
      await page.locator('#scatter .card').waitFor();
      expect(await page.locator('#scatter .card').innerText()).toContain('operator\tC2');
      await page.locator('#scatter').getByLabel('kind').selectOption('matmul');
      expect(await page.locator('#scatter').getAttribute('data-points')).toBe('46');
      await page.locator('#scatter').getByLabel('of', { exact: true }).selectOption('the selected chip');
      expect(await page.locator('#scatter').getAttribute('data-points')).toBe('1');
    }));

  test('what binds: bars along the front, and along an axis through the selected chip', () =>
    onPage(report, async (page) => {
      const binding = page.locator('#binding');
      expect(await binding.getAttribute('data-points')).toBe(String(frontOf(report).length));
      await binding.getByLabel('along').selectOption('core.count');
      expect(await binding.getAttribute('data-points')).toBe('5');
      const spoken = (await page.locator('[data-chart=binding]').getAttribute('aria-label')) ?? '';
      const alike = range(46, (c) => c).filter(
        (c) => c > 0 && [1, 2].every((i) => report.chips.axis[i]?.[c] === report.chips.axis[i]?.[fastest(report)]),
      );
      for (const chip of alike) {
        const shares = report.chips.bound.shares.map((s) => s[chip] as number);
        const most = report.chips.bound.names[shares.indexOf(Math.max(...shares))];
        expect(spoken).toContain(`${report.axes[0]?.values[report.chips.axis[0]?.[chip] as number]}: ${most}`);
      }
    }));

  test('operators: the program of the chip beside that of its base', () =>
    onPage(report, async (page) => {
      const cells = (name: string) =>
        page
          .locator('.programs tr')
          .filter({ has: page.locator('th', { hasText: new RegExp(`^${name}$`) }) })
          .locator('td')
          .allInnerTexts();
      expect(await cells('block tile')).toEqual(['32x64x16', '128x128x8']);
      expect(await cells('layout')).toEqual(['per_thread 2', 'A+1']);
      await page.locator('#operators').getByRole('button', { name: 'D0' }).click();
      expect(await page.locator('.programs h3').innerText()).toBe('Best program of D0');
      expect(await page.locator('.command').last().innerText()).toContain('--set core.count=120');
      expect(await page.locator('.sketch figure').count()).toBe(2);
    }));

  test('operators: their shares are of the weighted total', () =>
    onPage(report, async (page) => {
      const heads = await page.locator('#operators .list th').allInnerTexts();
      const texts = await page
        .locator(`#operators .list tbody td:nth-child(${heads.indexOf('share') + 1})`)
        .allInnerTexts();
      const shares = texts.map((t) => Number.parseFloat(t));
      expect(shares.length).toBe(4);
      expect(shares.reduce((a, b) => a + b, 0)).toBeCloseTo(100, 0);
    }));

  test('the table sorts and filters, and the filter holds in every drawing', () =>
    onPage(report, async (page) => {
      const first = () => page.locator('#chips tbody tr').first().getAttribute('data-chip');
      expect(await first()).toBe(String(fastest(report)));
      await page.locator('#chips').getByRole('button', { name: 'time' }).click();
      expect(Number(await page.locator('#chips tbody tr').last().getAttribute('data-chip'))).toBe(fastest(report));
      await page.getByLabel('filter of chips').fill('core.count = 60, clock > 1.3 GHz');
      const kept = range(46, (c) => c).filter(
        (c) => report.chips.axis[0]?.[c] === 1 && (report.chips.axis[2]?.[c] ?? 0) > 0,
      );
      expect(await page.locator('#chips').getAttribute('data-rows')).toBe(String(kept.length));
      expect(await page.locator('#front').getAttribute('data-points')).toBe(String(kept.length));
      expect(await page.locator('#scatter').getAttribute('data-points')).toBe(String(4 * kept.length));
      expect(await page.locator('.heat td.none').count()).toBe(4 * 3);
      await page.getByLabel('filter of chips').fill('cores = 60');
      await page.keyboard.press('Enter');
      expect(await page.locator('#bar .wrong').innerText()).toContain(
        "no column is called 'cores'; there are chip, core.count",
      );
    }));

  test('one operator may stand for all', () =>
    onPage(report, async (page) => {
      await page.locator('#bar').getByLabel('operators').selectOption('D0');
      const us = (chip: number) => report.rows.predicted_us[chip * 4 + 2] as number;
      const best = Math.min(...range(46, us));
      const text = await page.locator('#chips tbody tr').first().innerText();
      expect(text).toContain(`${Number(best.toPrecision(4))} us`);
      await page.locator('#bar').getByLabel('times').selectOption('simulated');
      expect(await page.locator('#heatmap .note').innerText()).toContain('simulated time of D0');
    }));

  test('a network stands for its operators, in every drawing', () => {
    const networks = [
      { name: 'bert-base', operators: [0, 1] },
      { name: 'nerf', operators: [3] },
    ];
    const named = sample({ ...kSmall, networks });
    return onPage(named, async (page) => {
      const first = () => page.locator('#chips tbody tr').first().getAttribute('data-chip');
      const of = named.networks[1]?.totals[0]?.total_us ?? [];
      await page.locator('.networks').getByRole('button', { name: 'nerf' }).click();
      expect(await page.locator('#operators .beside .list').first().locator('tbody tr').count()).toBe(1);
      expect(of[Number(await first())]).toBe(Math.min(...of.map((us) => us ?? NaN)));
      await page.getByLabel('operators', { exact: true }).selectOption('bert-base, weighted');
      expect(await page.locator('.networks tr.selected').innerText()).toContain('bert-base');
      expect(await page.locator('#operators .beside .list').first().locator('tbody tr').count()).toBe(2);
    });
  });

  test('everything is reached by keyboard', () =>
    onPage(report, async (page) => {
      const front = await drawnFront(page);
      const reached = new Set<string>();
      for (let i = 0; i < 70; ++i) {
        await page.keyboard.press('Tab');
        const where = await page.evaluate(() => {
          const active = document.activeElement as HTMLElement | null;
          if (active?.dataset['chart'] === 'front') return 'front chart';
          return `${active?.closest('section, #bar, header')?.id} ${active?.tagName}`;
        });
        reached.add(where);
        if (where !== 'front chart' || reached.has('walked')) continue;
        reached.add('walked');
        await page.keyboard.press('ArrowLeft');
        await selectedEverywhere(page, front.at(-2) as number);
        await page.keyboard.press('ArrowRight');
        await selectedEverywhere(page, front.at(-1) as number);
      }
      for (const stop of [
        'bar INPUT',
        'front SELECT',
        'heatmap BUTTON',
        'scatter SELECT',
        'binding SELECT',
        'operators BUTTON',
        'chips BUTTON',
      ])
        expect([...reached]).toContain(stop);
    }));

  test('an address names a chip', () => onPage(report, (page) => selectedEverywhere(page, 17), { hash: '#chip=17' }));

  test('it is dark where the system is, and paper is white', () =>
    onPage(
      report,
      async (page) => {
        const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
        expect(await background()).toBe('rgb(20, 24, 29)');
        await page.emulateMedia({ media: 'print', colorScheme: 'dark' });
        expect(await background()).toBe('rgb(255, 255, 255)');
        expect((await page.pdf({ format: 'A4' })).length).toBeGreaterThan(50_000);
      },
      { scheme: 'dark' },
    ));

  for (const width of [360, 700, 1100, 1920])
    test(`nothing is wider than a window of ${width} pixels`, () =>
      onPage(
        report,
        async (page) => {
          expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
        },
        { width },
      ));
});

describe('what is absent is a sentence', () => {
  test('no simulated times, one axis', () =>
    onPage(sample({ ...kSmall, simulated: false, axes: kSmall.axes.slice(0, 1) }), async (page) => {
      expect(await page.locator('#scatter .absent').allInnerTexts()).toEqual([
        'The store holds no simulated times; a sweep with `evaluator: sim` has them.',
        'The store holds no measured times.',
      ]);
      expect(await page.locator('#scatter .chart').count()).toBe(0);
      expect(await page.locator('#heatmap .note').innerText()).toContain('The sweep has one axis');
      expect(await page.locator('.heat tbody tr').count()).toBe(5);
    }));

  test('no axes at all', () =>
    onPage(sample({ ...kSmall, axes: [] }), async (page) => {
      expect(await page.locator('#heatmap .absent').innerText()).toContain('it has no axes');
      expect(await page.locator('#front .absent').innerText()).toContain('No number of the chips varies');
    }));

  test('failures, refused chips, and nothing that is finished', () => {
    const report = sample({ ...kSmall, failEvery: 4 });
    report.chips.refused = {
      dictionary: ['banks: no power of two'],
      codes: report.chips.base.map((_, c) => (c === 3 ? 0 : null)),
    };
    report.chips.bound = { names: [], shares: [] };
    return onPage(report, async (page) => {
      expect(await page.locator('#front').getAttribute('data-points')).toBe('0');
      expect(await page.locator('#heatmap .absent').innerText()).toContain('None of the chips');
      expect(await page.locator('#binding .absent').innerText()).toContain('No chip has a predicted time');
      expect(await page.locator('#selection').innerText()).toBe('');
      expect(await page.locator('#operators .absent').innerText()).toContain('Select a chip');
      await page.locator('#chips tr[data-chip="3"]').click();
      expect(await page.locator('#chips tr.selected').getAttribute('title')).toBe('banks: no power of two');
      expect(await page.locator('#operators .wrong').innerText()).toBe('no block of it fits the scratchpad');
    });
  });

  test('an empty template and damaged data say so', async () => {
    const template = filled(sample(kSmall));
    const data = (text: string) => template.replace(/(id="report">)[^<]*/, `$1${text}`);
    for (const [text, sentence] of [
      [kMark, 'This is the empty template of a report.'],
      ['{"report": 1, ', 'The data in this file is damaged.'],
      ['{"report": 2}', 'is of form 2, and this page reads form 1'],
    ] as const) {
      const opened = await Opened.open(browser, data(text));
      expect(await opened.page.locator('#failure').innerText()).toContain(sentence);
      await opened.close();
    }
  });
});

test('a name is a text, whatever it says', () => {
  const report = sample(kSmall);
  const evil = '</script><img src=x onerror="document.title=\'gone\'"><!--';
  report.title = evil;
  report.operators.id[0] = evil;
  report.operators.kind[0] = evil;
  report.operators.about[0] = evil;
  report.sweep.text = evil;
  const [axis] = report.axes;
  if (axis) Object.assign(axis, { name: evil, values: axis.values.map((v) => `${v}${evil}`) });
  return onPage(report, async (page) => {
    expect(await page.title()).toBe(`${evil} - Tilescope`);
    expect(await page.locator('h1').innerText()).toBe(evil);
    expect(await page.locator('img').count()).toBe(0);
    const chip = frontOf(report)[1] as number;
    const at = await place(page, 'front', [cost(report, chip), total(report, chip)]);
    await page.mouse.move(at.x, at.y);
    await page.locator('#front .card').waitFor();
    expect(await page.locator('#front .card').innerText()).toContain(evil);
    expect(await page.locator('img').count()).toBe(0);
  });
});

test('20,000 chips with 4 objectives, and 80,000 times', async () => {
  const report = decided(kLarge);
  const html = filled(report);
  console.log(`20,000 chips x 4 operators with 4 objectives: ${(html.length / 1e6).toFixed(1)} MB`);
  expect(html.length).toBeLessThan(15e6);
  await onPage(report, async (page) => {
    const drawn = await page.evaluate(() => performance.getEntriesByName('tilescope-drawn')[0]?.startTime ?? 0);
    console.log(`first drawn after ${drawn.toFixed(0)} ms`);
    expect(await page.locator('#front').getAttribute('data-points')).toBe('20001');
    expect(Number(await page.locator('#scatter').getAttribute('data-points'))).toBeGreaterThan(20_000);
    expect(await page.locator('#chips').getAttribute('data-rows')).toBe('20001');
    expect(await drawnFront(page)).toEqual(frontOf(report));
    // Every hundredth chip, wherever it lies, is painted; one beyond the budget is hollow.
    for (let chip = 50; chip < 20_000; chip += 100) {
      const at = await place(page, 'front', [cost(report, chip), total(report, chip)]);
      const edges = report.chips.violation?.[chip] === 0 ? [0] : [-2, -1.5, 1.5, 2];
      const inks = await Promise.all(edges.map((by) => pixel(page, 'front', { x: at.x + by, y: at.y })));
      expect(Math.max(...inks.map((ink) => ink[3] ?? 0)), `chip ${chip}`).toBeGreaterThan(0);
    }
    await page.evaluate(() => {
      performance.mark('select');
      window.tilescope?.state.set({ chip: 12345 });
    });
    await selectedEverywhere(page, 12345);
    const took = await page.evaluate(
      () => performance.now() - (performance.getEntriesByName('select')[0]?.startTime ?? 0),
    );
    console.log(`another chip selected and drawn everywhere within ${took.toFixed(0)} ms`);
    const filtering = Date.now();
    await page.getByLabel('filter of chips').pressSequentially('area <= 400 mm2', { delay: 30 });
    const left = report.objectives?.[2]?.values.filter((v) => (v as number) <= 400).length;
    await expect.poll(() => page.locator('#chips').getAttribute('data-rows')).toBe(String(left));
    console.log(`a filter typed and drawn everywhere within ${Date.now() - filtering} ms`);
  });
});
