// SPDX-License-Identifier: Apache-2.0
// A drawing of ECharts in the page: created once, redrawn whole on every change, resized and printed with the page.

import { BarChart, CustomChart, LineChart, ScatterChart } from 'echarts/charts';
import { GridComponent, LegendComponent, TooltipComponent } from 'echarts/components';
import * as echarts from 'echarts/core';
import { CanvasRenderer } from 'echarts/renderers';

import { theme, onThemeChange, type Theme } from './colour';
import { h } from './dom';
import { quantity } from './format';
import type { Scale } from './ticks';

echarts.use([BarChart, CustomChart, LineChart, ScatterChart, GridComponent, LegendComponent, TooltipComponent]);
echarts.use([CanvasRenderer]);

export type Option = echarts.EChartsCoreOption;

/** What tests ask: the drawings of the page by name. */
export const drawings = new Map<string, echarts.ECharts>();

/** What is below what is in sight when the page opens. */
const waiting: (() => void)[] = [];

/** Draws at once what is in sight, the rest when the page has been shown. */
export function drawInTurn(host: HTMLElement, draw: () => void): boolean {
  const late = host.getBoundingClientRect().top > innerHeight;
  if (late) waiting.push(draw);
  else draw();
  return late;
}

/** Draws what waits, one after another, so that the page answers in between; `done` is called after the last. */
export function drawWaiting(done: () => void): void {
  waiting.shift()?.();
  if (waiting.length > 0) setTimeout(() => drawWaiting(done));
  else done();
}

/** Narrower drawings, as on a phone, have smaller margins. */
const kNarrow = 560;

/** A ring around a datum, above the drawing: selecting a chip redraws none of its 20,000 neighbours. */
export interface Mark {
  at: [number, number];
  size: number;
  label?: string;
}

export class Chart {
  readonly host: HTMLElement;
  private readonly drawing: echarts.ECharts;
  private readonly rings = h('div', { className: 'rings' });
  private sized = false;
  private drawn = false;
  private waits = false;
  private wasNarrow = false;

  /** `option` is asked for on every redraw, `marks` after it too; `onClick` hears the chip or item of what was clicked. */
  constructor(
    name: string,
    private readonly option: (colours: Theme) => Option,
    onClick: (item: number) => void,
    private readonly marks: () => Mark[] = () => [],
  ) {
    this.host = h('div', { className: 'chart', tabIndex: 0, data: { chart: name }, aria: { role: 'img' } });
    this.drawing = echarts.init(this.host, null, { renderer: 'canvas', width: 400, height: 300 });
    drawings.set(name, this.drawing);
    this.host.append(this.rings);
    this.drawing.on('click', (event) => {
      const datum = event.data as { chip?: number; item?: number } | undefined;
      const item = datum?.item ?? datum?.chip;
      if (item !== undefined) onClick(item);
    });
    onThemeChange(() => {
      this.waits = false; // paper has no later
      this.fit();
      this.draw();
    });
  }

  /** Draws once the host has its place in the page, out of sight a little later, and again when its size changes. */
  attach(): void {
    new ResizeObserver(() => {
      if (!this.fit()) return;
      if (!this.sized) {
        this.sized = true;
        this.waits = drawInTurn(this.host, () => this.drawLate());
        if (!this.waits) this.draw();
      } else if (this.narrow === this.wasNarrow) this.mark();
      else this.draw();
    }).observe(this.host);
  }

  /** Whether the drawing has another size now. */
  private fit(): boolean {
    const { clientWidth: width, clientHeight: height } = this.host;
    if (width === 0 || (width === this.drawing.getWidth() && height === this.drawing.getHeight() && this.sized))
      return false;
    this.drawing.resize({ width, height });
    return true;
  }

  private get narrow(): boolean {
    return this.drawing.getWidth() < kNarrow;
  }

  private drawLate(): void {
    if (!this.waits) return;
    this.waits = false;
    this.draw();
  }

  /** What the drawing shows, for who does not see it. */
  say(text: string): void {
    this.host.setAttribute('aria-label', text);
  }

  draw(): void {
    if (!this.sized || this.waits) return;
    this.wasNarrow = this.narrow;
    const colours = { ...theme(), narrow: this.narrow };
    const common = {
      animation: false,
      textStyle: { fontFamily: 'system-ui, sans-serif', fontSize: 12, color: colours.ink },
    };
    this.drawing.setOption({ ...common, ...this.option(colours) }, { notMerge: true });
    this.drawn = true;
    this.mark();
  }

  /** Puts the rings where the drawing has their data. */
  mark(): void {
    if (!this.drawn) return;
    const middle = this.drawing.getWidth() / 2;
    const rings = this.marks().map(({ at, size, label }) => {
      const [x = 0, y = 0] = this.drawing.convertToPixel({ xAxisIndex: 0, yAxisIndex: 0 }, at);
      const ring = h('div', { className: x > middle ? 'ring right' : 'ring' }, label && h('span', {}, label));
      for (const [name, px] of Object.entries({ left: x - size / 2, top: y - size / 2, width: size, height: size }))
        ring.style.setProperty(name, `${px}px`);
      return ring;
    });
    this.rings.replaceChildren(...rings);
  }
}

/** An axis over a scale, its marks where the scale has them. */
export function axisOption(scale: Scale, name: string, unit: string, colours: Theme, upright = false): Option {
  return {
    type: scale.log ? 'log' : 'value',
    min: scale.min,
    max: scale.max,
    name,
    nameLocation: 'middle',
    nameGap: upright ? (colours.narrow ? 50 : 62) : 30,
    nameTextStyle: { color: colours.faint },
    nameTruncate: { maxWidth: upright || colours.narrow ? 270 : 500, ellipsis: '…' },
    axisLine: { show: true, lineStyle: { color: colours.faint } },
    axisTick: { show: true, customValues: scale.ticks, lineStyle: { color: colours.faint } },
    axisLabel: {
      customValues: scale.ticks,
      color: colours.ink,
      fontSize: colours.narrow ? 10.5 : 12,
      hideOverlap: true,
      formatter: (value: number) => quantity(value, unit),
    },
    splitLine: { show: true, lineStyle: { color: colours.rule } },
  };
}

/** What a drawing leaves around itself for its axes, and for a legend above it. */
export const gridOption = (colours: Theme): Option => ({
  left: colours.narrow ? 68 : 84,
  right: 18,
  top: colours.narrow ? 52 : 34,
  bottom: 52,
});

export function legendOption(colours: Theme, data?: string[]): Option {
  return {
    top: 0,
    left: colours.narrow ? 0 : 60,
    itemWidth: 14,
    itemHeight: 9,
    textStyle: { color: colours.ink },
    ...(data ? { data } : {}),
  };
}

/** A tooltip that shows what is made of the hovered datum. */
export function tooltipOption<Datum>(colours: Theme, card: (datum: Datum) => HTMLElement): Option {
  return {
    trigger: 'item',
    confine: true,
    transitionDuration: 0,
    backgroundColor: colours.paper,
    borderColor: colours.rule,
    textStyle: { color: colours.ink, fontSize: 12 },
    formatter: (hovered: { data: Datum }) => card(hovered.data),
  };
}

/** Many points are drawn smaller and fainter; below 4 pixels ECharts fills squares, in a tenth of a circle's time. */
export function pointsOption(count: number): { symbolSize: number; large: boolean; progressive: number } {
  const many = count > kMany;
  return { symbolSize: many ? 3.5 : 7, large: many, progressive: 0 };
}
export const kMany = 2000;
