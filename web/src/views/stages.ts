// SPDX-License-Identifier: Apache-2.0
// A program of several stages, one under the other: what its document writes in one line, "a0 x a1; a0; a0 x a1", is
// read stage by stage, with what the chip's program does otherwise than the base's.

import { h } from '../dom';

/** A program as fields of texts, in which stages stand with a semicolon between them. */
export interface Staged {
  name: string;
  fields: ReadonlyMap<string, string>;
}

const kBetween = '; ';
const kUsual = ['', 'nothing']; // says no more than that the field is not there

/** The texts of a field, one a stage. */
const partsOf = (program: Staged, field: string): string[] => (program.fields.get(field) ?? '').split(kBetween);

export const hasStages = (program: Staged): boolean => partsOf(program, 'axes').length > 1;

/** Programs with the same stages beside each other, others one after another. */
export function stagesList(programs: readonly Staged[], fields: readonly string[]): HTMLElement[] {
  const [base, chip] = programs;
  if (base && chip && partsOf(base, 'axes').join() === partsOf(chip, 'axes').join())
    return [listOf(`Stages, ${base.name} → ${chip.name} where they differ`, chip, base, fields)];
  return programs.filter((p) => p.fields.get('axes')).map((p) => listOf(`Stages of ${p.name}`, p, null, fields));
}

function listOf(title: string, program: Staged, base: Staged | null, fields: readonly string[]): HTMLElement {
  const axes = partsOf(program, 'axes');
  const items = axes.map((text, i) => {
    const pairs = fields
      .filter((f) => f !== 'axes')
      .map((f) => pair(f, partsOf(program, f)[i] ?? '', base ? (partsOf(base, f)[i] ?? '') : null));
    return h('li', {}, h('strong', {}, text === '' ? 'one element' : text), ...pairs);
  });
  return h('div', { className: 'part' }, h('h4', {}, title), h('ol', { className: 'stages' }, ...items));
}

function pair(field: string, text: string, was: string | null): HTMLElement | null {
  const differs = was !== null && was !== text;
  if (!differs && kUsual.includes(text)) return null;
  const value = differs ? h('b', { className: 'other' }, `${was || 'none'} → ${text || 'none'}`) : text;
  return h('span', { className: 'pair' }, h('small', {}, `${field} `), value);
}
