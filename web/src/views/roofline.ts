// SPDX-License-Identifier: Apache-2.0
// The roofline of the selected chip with every kernel on it.

import { chipName } from '../card';
import { Chart, type Mark } from '../chart';
import { absent, choice, h, replaceControls, type Child } from '../dom';
import { count, number, percent, quantity, time } from '../format';
import { watchLooks } from '../looks';
import { hasRoofline, levelsOf, rooflineOf, type Kernel, type Roofline } from '../roofline';
import type { State } from '../state';
import { walkWithArrows } from '../walk';
import { programLook } from './operators';
import { rooflineOption } from './roofline_drawing';

export function rooflineView(state: State): Child {
  const r = state.report;
  const levels = levelsOf(r);
  if (!hasRoofline(r) || levels.length === 0) return null;
  const level = state.look('roofline', levels);
  const program = programLook(state);
  const controls = h('div', { className: 'controls' });
  const said = h('p', { className: 'hint', aria: { live: 'polite' } });
  const note = h('p', { className: 'note' });
  const none = absent('Select a chip in any drawing or table to see its roofline.');
  let drawn: Roofline | null = null;
  const chart = new Chart(
    'roofline',
    (colours) => (drawn ? rooflineOption(state, drawn, colours) : {}),
    (operator) => program.choose(operator),
    () => marksOf(drawn, program.at()),
  );
  const section = h('section', { id: 'roofline' }, h('h2', {}, 'Roofline'), controls, none, chart.host, said, note);
  chart.attach();
  walkWithArrows(
    chart.host,
    () => byIntensity(drawn),
    () => program.at(),
    (operator) => program.choose(operator),
  );
  const tell = () => {
    const kernel = drawn?.kernels.find((k) => k.operator === program.at());
    said.textContent = kernel && drawn ? kernelSentence(state, drawn, kernel) : '';
  };
  const redraw = () => {
    const { chip } = state.get();
    drawn = chip === null ? null : rooflineOf(state, chip, level.name());
    none.hidden = drawn !== null;
    chart.host.hidden = note.hidden = drawn === null;
    replaceControls(controls, ...(drawn ? [choice('bytes of', levels, level.at(), (i) => level.choose(i))] : []));
    section.dataset['points'] = String(drawn?.kernels.length ?? 0);
    tell();
    if (!drawn || chip === null) return;
    note.textContent = sentence(state, drawn);
    chart.draw();
    chart.say(`Roofline of ${chipName(chip)}. ${note.textContent} Arrow keys go from kernel to kernel.`);
  };
  state.watch(['chip', 'source', 'network'], redraw);
  watchLooks(state, [level], redraw);
  watchLooks(state, [program], () => {
    tell();
    chart.mark();
  });
  return section;
}

const byIntensity = (drawn: Roofline | null): number[] =>
  [...(drawn?.kernels ?? [])].sort((a, b) => a.intensity - b.intensity).map((k) => k.operator);

const marksOf = (drawn: Roofline | null, operator: number): Mark[] =>
  (drawn?.kernels ?? [])
    .filter((k) => k.operator === operator)
    .map((k) => ({ at: [k.intensity, k.rate] as [number, number], size: 24 }));

/** "M0, 1.2 ms of predicted time (31 %), bound by dram: 13.4 TFLOP/s at 42 FLOP/B, 94.6 % of what fma.f32 and dram allow." */
export function kernelSentence(state: State, drawn: Roofline, k: Kernel): string {
  const name = state.report.operators.id[k.operator] ?? '';
  return (
    `${name}: ${time(k.us)} ${state.get().source}, ${percent(k.share)} of the time, bound by ${k.bound}; ` +
    `${quantity(k.rate, 'FLOP/s')} at ${number(k.intensity, 3)} FLOP/B, ` +
    `${percent(k.rate / k.ceiling)} of what ${k.instruction} and ${drawn.level} allow.`
  );
}

function sentence(state: State, drawn: Roofline): string {
  const names = (why: string) =>
    drawn.without.filter((w) => w.why === why).map((w) => state.report.operators.id[w.operator] ?? '');
  const said = (why: string, what: string) => {
    const all = names(why);
    return all.length === 0 ? '' : ` ${all.slice(0, 6).join(', ')}${all.length > 6 ? ' and others' : ''} ${what}.`;
  };
  return (
    `${count(drawn.kernels.length, 'operator')}, each its program: the work that it does over the bytes that pass ` +
    `${drawn.level}, and over its ${state.get().source} time; the larger, the larger its share of the time.` +
    said('time', 'lack a time') +
    said('work', 'lack work of an instruction with a peak') +
    said('bytes', `move nothing through ${drawn.level}`)
  );
}
