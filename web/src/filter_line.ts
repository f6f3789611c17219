// SPDX-License-Identifier: Apache-2.0
// The line in which conditions are written that items have to fulfil in order to be shown.

import { h } from './dom';
import { parseFilter, type FilterColumn } from './filter';
import { count } from './format';

export interface FilterLine {
  host: HTMLElement;
  /** Writes the conditions for the reader. */
  write: (line: string) => void;
}

/** `words`: a text without a comparison is a condition too (filter.ts). */
export function filterLine(
  noun: string,
  all: readonly number[],
  columns: readonly FilterColumn[],
  placeholder: string,
  show: (shown: readonly number[]) => void,
  words = false,
): FilterLine {
  const input = h('input', { type: 'search', size: 34, spellcheck: false, aria: { label: `filter of ${noun}s` } });
  input.placeholder = placeholder;
  input.title = `Conditions with commas between them, of: ${columns.map((c) => c.names.at(-1) ?? '').join(', ')}`;
  const said = h('span', { className: 'note', aria: { live: 'polite' } });
  const apply = () => {
    const parsed = parseFilter(input.value, columns, words);
    input.setAttribute('aria-invalid', String('error' in parsed));
    said.classList.toggle('wrong', 'error' in parsed);
    if ('error' in parsed) {
      said.textContent = parsed.error;
      return;
    }
    const shown = input.value.trim() === '' ? all : all.filter(parsed.test);
    show(shown);
    said.textContent =
      shown.length === all.length ? '' : `${shown.length.toLocaleString('en-US')} of ${count(all.length, noun)}`;
  };
  for (const event of words ? ['input'] : ['change', 'search']) input.addEventListener(event, apply);
  const write = (line: string) => {
    input.value = line;
    apply();
  };
  return { host: h('label', { className: 'choice' }, `${noun}s `, input, said), write };
}
