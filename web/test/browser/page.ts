// SPDX-License-Identifier: Apache-2.0
// Debian's Chromium with one report open, and all that the page asks of the network or complains of.

import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { chromium, type Browser, type Page } from 'playwright-core';
import { expect } from 'vitest';

const kTemplate = process.env['TILESCOPE_WEB_TEMPLATE'] ?? '../build/web/report.html';
const kChromium = process.env['TILESCOPE_CHROMIUM'] ?? '/usr/bin/chromium';

export const kMark = '/*@@TILESCOPE_REPORT@@*/';

/** The template filled as `tilescope report` fills it. */
export function filled(report: object): string {
  if (!existsSync(kTemplate)) throw new Error(`${kTemplate} is not there; ./dev web builds it`);
  const [before, after, ...more] = readFileSync(kTemplate, 'utf8').split(kMark);
  if (before === undefined || after === undefined || more.length > 0) throw new Error(`${kTemplate}: not one ${kMark}`);
  return before + JSON.stringify(report).replaceAll('<', '\\u003c') + after;
}

export class Opened {
  readonly requests: string[] = [];
  readonly complaints: string[] = [];

  private constructor(
    readonly page: Page,
    readonly path: string,
  ) {}

  static async open(browser: Browser, html: string, look: Partial<Look> = {}): Promise<Opened> {
    const folder = mkdtempSync(join(tmpdir(), 'tilescope-report-'));
    const path = join(folder, 'report.html');
    writeFileSync(path, html);
    const context = await browser.newContext({
      viewport: { width: look.width ?? 1440, height: look.height ?? 1000 },
      colorScheme: look.scheme ?? 'light',
    });
    const page = await context.newPage();
    const opened = new Opened(page, path);
    page.on('request', (r) => {
      if (!r.url().startsWith('data:')) opened.requests.push(r.url());
    });
    page.on('console', (m) => {
      const ours = m.text().includes('getImageData'); // the tests read pixels, the page does not
      if (!ours && (m.type() === 'error' || m.type() === 'warning')) opened.complaints.push(m.text());
    });
    page.on('pageerror', (e) => opened.complaints.push(e.message));
    await page.goto(`file://${path}${look.hash ?? ''}`);
    await page.waitForFunction(() => performance.getEntriesByName('tilescope-complete').length > 0);
    return opened;
  }

  async close(): Promise<void> {
    await this.page.context().close();
    rmSync(join(this.path, '..'), { recursive: true });
  }
}

export interface Look {
  width: number;
  height: number;
  scheme: 'light' | 'dark';
  hash: string;
}

export function launch(): Promise<Browser> {
  return chromium.launch({ executablePath: kChromium, args: ['--no-sandbox', '--disable-gpu'] });
}

/** Opens a report, runs the test, and checks that the page asked for nothing and complained of nothing. */
export async function onPageOf(
  browser: Browser,
  report: object,
  run: (page: Page, opened: Opened) => Promise<void>,
  look: Partial<Look> = {},
): Promise<void> {
  const opened = await Opened.open(browser, filled(report), look);
  try {
    await run(opened.page, opened);
    expect(opened.requests).toEqual([`file://${opened.path}${look.hash ?? ''}`].map((u) => u.split('#')[0]));
    expect(opened.complaints).toEqual([]);
  } finally {
    await opened.close();
  }
}
