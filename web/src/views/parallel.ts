// SPDX-License-Identifier: Apache-2.0
// Parallel coordinates: a lane for every axis and objective, a line for every chip. A range that is brushed on a lane is
// written into the filter line, and one that is written there is seen here.

import { chipName } from '../card';
import { drawInTurn } from '../chart';
import { onThemeChange, theme } from '../colour';
import { isBase } from '../data';
import { absent, h } from '../dom';
import { count } from '../format';
import { lanesOf, lineWith, type Lane } from '../lanes';
import { feasible } from '../measures';
import { kFrontKeys, type State } from '../state';
import { brushOf, type Brush } from './brush';
import { coloursOf, drawMany, drawOne, fitted, stepsOf, type Frame, type Steps } from './parallel_lines';

const kLeastApart_px = 92; // upright lanes; where there is less room they lie
const kMany = 2000; // above, chips are filtered when the pointer is lifted

export function parallelView(state: State): HTMLElement {
  const section = h('section', { id: 'parallel', className: 'wide' }, h('h2', {}, 'All numbers of all chips'));
  if (lanesOf(state).length < 2) {
    section.append(absent('The sweep varies nothing, so all chips are one line.'));
    return section;
  }
  const view = new Parallel(state, section);
  section.append(view.host, view.note);
  view.start();
  return section;
}

class Parallel {
  readonly note = h('p', { className: 'note' });
  private readonly many = h('canvas', { aria: { hidden: 'true' } });
  private readonly few = h('canvas', { aria: { hidden: 'true' } });
  private readonly overlay = h('div', { className: 'overlay' });
  private readonly plot = h('div', { className: 'plot' }, this.many, this.few, this.overlay);
  readonly host = h(
    'div',
    { className: 'parallel', aria: { role: 'group', label: 'parallel coordinates' } },
    this.plot,
  );
  private lanes: Lane[] = [];
  private steps: Steps[] | null = null; // of the lanes, made when they are drawn
  private brushes: Brush[] = [];
  private frame: Frame = { width: 0, height: 0, upright: true };
  private drawn = false;

  constructor(
    private readonly state: State,
    private readonly section: HTMLElement,
  ) {}

  start(): void {
    const { state } = this;
    state.watch(['source', 'operator', 'network', 'x', 'y'], () => {
      this.lanes = lanesOf(state);
      this.steps = null;
      this.build();
    });
    state.watch(['line'], () => this.placeBrushes());
    state.watch(['chip'], () => this.drawFew());
    state.watch(kFrontKeys, () => {
      this.drawMany();
      this.section.dataset['shown'] = String(state.get().shown.length);
      this.note.textContent = this.sentence();
    });
    onThemeChange(() => {
      this.drawn = true; // paper has no later
      this.fit();
      this.draw();
    });
    new ResizeObserver(() => this.fit()).observe(this.host);
  }

  /** Lays the lanes out; in sight at once, else when the page has been shown. */
  private fit(): void {
    const room = this.host.clientWidth;
    if (room === 0) return;
    const upright = room / this.lanes.length >= kLeastApart_px;
    const turned = upright !== this.frame.upright || this.frame.width === 0;
    this.frame.upright = upright;
    if (turned) this.build();
    const { clientWidth: width, clientHeight: height } = this.plot;
    if (width === this.frame.width && height === this.frame.height && !turned) return;
    this.frame = { width, height, upright };
    if (this.drawn) this.draw();
    else
      drawInTurn(this.host, () => {
        this.drawn = true;
        this.draw();
      });
  }

  private build(): void {
    const { upright } = this.frame;
    this.host.classList.toggle('upright', upright);
    this.host.classList.toggle('lying', !upright);
    this.host.style.setProperty('--lanes', String(this.lanes.length));
    const last = Math.max(1, this.lanes.length - 1);
    this.brushes = this.lanes.map((lane) =>
      brushOf(lane, upright, this.state.report.counts.chips <= kMany, (low, high) =>
        this.state.filter(lineWith(this.state.get().line, lane, low, high)),
      ),
    );
    this.brushes.forEach((brush, i) => brush.host.style.setProperty(upright ? 'left' : 'top', `${(100 * i) / last}%`));
    this.overlay.replaceChildren(...this.brushes.map((b) => b.host));
    this.placeBrushes();
  }

  private placeBrushes(): void {
    const { line } = this.state.get();
    this.brushes.forEach((brush, i) => brush.place(...(this.lanes[i]?.range(line) ?? [0, 1])));
  }

  private draw(): void {
    this.drawMany();
    this.drawFew();
  }

  private drawMany(): void {
    const { frame, state } = this;
    if (!this.drawn || frame.width === 0) return;
    const paint = fitted(this.many, frame);
    if (!paint) return;
    const r = state.report;
    const colours = coloursOf(theme());
    const { shown } = state.get();
    const kept = new Set(shown);
    const out = r.chips.base.map((_, chip) => chip).filter((chip) => !kept.has(chip));
    const within = shown.filter((chip) => feasible(r, chip));
    const beyond = shown.filter((chip) => !feasible(r, chip));
    this.steps ??= this.lanes.map(stepsOf);
    drawMany(paint, frame, this.steps, out, colours.out);
    drawMany(paint, frame, this.steps, beyond, colours.beyond);
    drawMany(paint, frame, this.steps, within, colours.within);
  }

  private drawFew(): void {
    const { frame, state, lanes } = this;
    if (!this.drawn || frame.width === 0) return;
    const paint = fitted(this.few, frame);
    if (!paint) return;
    const colours = theme();
    state.report.chips.base.forEach((_, chip) => {
      if (isBase(state.report, chip)) drawOne(paint, frame, lanes, chip, colours.ink, true);
    });
    const { chip } = state.get();
    if (chip !== null) drawOne(paint, frame, lanes, chip, colours.mark, false);
  }

  private sentence(): string {
    const { report } = this.state;
    const { shown, chip } = this.state.get();
    const kept = report.chips.violation ? shown.filter((c) => feasible(report, c)).length : null;
    const budget = kept === null ? '' : `, ${kept.toLocaleString('en-US')} of them within the budget (blue)`;
    return (
      `${count(shown.length, 'chip')} of ${report.counts.chips.toLocaleString('en-US')}${budget}. ` +
      `Thick: ${chip === null ? 'the selected chip' : chipName(chip)}; dashed: the base. Drag along a lane, or move the ends of its ` +
      `range by arrow keys: the filter line says what is left. Escape, or a click beside the range, clears a lane.`
    );
  }
}
