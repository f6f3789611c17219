// SPDX-License-Identifier: Apache-2.0
// The Pareto front: any two numbers of the chips against each other, with the sweep's budgets.

import { apart, bandOf } from '../band';
import { chipName, differences } from '../card';
import { Chart } from '../chart';
import { shortNames } from '../data';
import { absent, choice, h, replaceControls } from '../dom';
import { count, time } from '../format';
import { budgetsOf, feasible, type Measure } from '../measures';
import { kFrontKeys, type State } from '../state';
import { walkWithArrows } from '../walk';
import { frontOption, kWhiskers, marksOf, pointsOf } from './front_drawing';

export function frontView(state: State): HTMLElement {
  const section = h('section', { id: 'front' }, h('h2', {}, 'Any two against each other'));
  if (state.measures.length < 2) {
    section.append(absent('No number of the chips varies in this sweep, so there is nothing to weigh time against.'));
    return section;
  }
  const note = h('p', { className: 'note' });
  const names = shortNames(state.report.axes.map((a) => a.name));
  const chart = new Chart(
    'front',
    (colours) => frontOption(state, colours),
    (chip) => state.set({ chip }),
    () => marksOf(state, (chip) => labelOf(state, chip, names)),
  );
  const select = h('div', { className: 'controls' });
  section.append(select, chart.host, note);
  chart.attach();
  walkWithArrows(
    chart.host,
    () => state.front(),
    () => state.get().chip,
    (chip) => state.set({ chip }),
  );
  state.watch(['x', 'y', 'xMore', 'yMore'], () => replaceControls(select, ...controls(state)));
  state.watch(['chip'], () => (hasWhiskers(state) ? chart.draw() : chart.mark()));
  state.watch(kFrontKeys, () => {
    chart.draw();
    const front = state.front();
    const points = pointsOf(state, state.get().shown).length;
    section.dataset['points'] = String(points);
    section.dataset['front'] = front.join(' ');
    note.textContent = sentence(state, front, points);
    chart.say(
      `${state.nameOf(state.y())} over ${state.nameOf(state.x())}: ${note.textContent} Arrow keys walk along the front.`,
    );
  });
  return section;
}

/** The selected chip has a whisker too, where chips have bands. */
const hasWhiskers = (state: State): boolean => {
  const chip = state.get().chip;
  return chip !== null && [state.x(), state.y()].some((m) => m.values === null) && bandOf(state, chip) !== null;
};

const labelOf = (state: State, chip: number, names: readonly string[]): string => {
  const what = differences(state.report, chip, names);
  return what.length > 44 ? chipName(chip) : `${chipName(chip)}: ${what}`;
};

function controls(state: State): HTMLElement[] {
  const { x, y, xMore, yMore } = state.get();
  const names = state.measures.map((m) => m.name);
  const more = (i: number) => state.measures[i]?.better === 'more';
  // An axis that is chosen for the other one too changes places with it.
  const chooseX = (i: number) =>
    state.set(i === y ? { x: y, y: x, xMore: yMore, yMore: xMore } : { x: i, xMore: more(i) });
  const chooseY = (i: number) =>
    state.set(i === x ? { x: y, y: x, xMore: yMore, yMore: xMore } : { y: i, yMore: more(i) });
  const way = (of: Measure, label: string, isMore: boolean, set: (more: boolean) => void) =>
    !of.fixed && choice(label, ['less', 'more'], isMore ? 1 : 0, (i) => set(i === 1));
  return [
    choice('up', names, y, chooseY),
    way(state.y(), 'better up is', yMore, (yMore) => state.set({ yMore })),
    choice('across', names, x, chooseX),
    way(state.x(), 'better across is', xMore, (xMore) => state.set({ xMore })),
  ].filter((c) => c !== false);
}

function sentence(state: State, front: readonly number[], points: number): string {
  const { shown, xMore, yMore } = state.get();
  const [x, y] = [state.x(), state.y()];
  const word = (m: Measure, more: boolean) => `${more ? 'more' : 'less'} ${m.name}`;
  const unknown = shown.length - points;
  const said = [
    `${count(front.length, 'chip')} of ${points.toLocaleString('en-US')} on the front: no other one ` +
      `${state.report.chips.violation ? 'within the budget ' : ''}has ${word(y, yMore)} without ${word(x, !xMore)}.`,
    hollowSentence(state),
    whiskerSentence(state, front),
    unknown > 0 ? `${count(unknown, 'chip')} without one of the two left out.` : '',
  ];
  return said.filter((s) => s !== '').join(' ');
}

function hollowSentence(state: State): string {
  const r = state.report;
  if (!r.chips.violation) return '';
  const hollow = state.get().shown.filter((chip) => !feasible(r, chip));
  const unknown = hollow.filter((chip) => feasible(r, chip) === null).length;
  const lines = [state.x(), state.y()].some((m) => budgetsOf(r, m).length > 0) ? ' Dashed: a budget.' : '';
  const why = unknown > 0 ? ` or, ${unknown.toLocaleString('en-US')} of them, have no figure for it` : '';
  return `Hollow: ${count(hollow.length, 'chip')} that do not keep to the budget${why}.${lines}`;
}

function whiskerSentence(state: State, front: readonly number[]): string {
  if (![state.x(), state.y()].some((m) => m.values === null)) return '';
  const { chip } = state.get();
  const own = chip === null ? null : bandOf(state, chip);
  const banded = front.filter((c) => bandOf(state, c)).length;
  if (!own && banded === 0) return '';
  const thin = front.length > kWhiskers ? ' The front has more chips than whiskers.' : '';
  if (!own || chip === null) return `Whiskers: 80 % intervals of times.${thin}`;
  const alike = front.filter((c) => c !== chip && apart(bandOf(state, c), own) === 'within').length;
  const others =
    alike > 0 ? `, overlapping ${alike === 1 ? 'that' : 'those'} of ${count(alike, 'other chip')} of the front` : '';
  return `Whiskers: 80 % intervals of times; that of ${chipName(chip)} is ${time(own.low)} to ${time(own.high)}${others}.${thin}`;
}
