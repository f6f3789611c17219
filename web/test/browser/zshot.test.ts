import { test } from 'vitest';
import { filled, launch, Opened } from './page';
import { kLarge, kSmall, sample } from '../sample';
test('shots', async () => {
  const b = await launch();
  for (const [name, o, look] of [
    ['small', kSmall, {}],
    ['dark', kSmall, { scheme: 'dark' as const }],
    ['large', kLarge, {}],
    ['narrow', kSmall, { width: 700 }],
  ] as const) {
    const html = filled(sample(o));
    const t = Date.now();
    const p = await Opened.open(b, html, look);
    console.log(
      name,
      html.length,
      Date.now() - t,
      p.complaints,
      p.requests,
      await p.page.evaluate(() => performance.getEntriesByName('tilescope-drawn')[0]?.startTime),
    );
    await p.page.screenshot({ path: `/tmp/shots/${name}.png`, fullPage: true });
    await p.close();
  }
  await b.close();
}, 200000);
