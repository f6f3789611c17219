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

/** Above so many items the page answers when a word is typed rather than a letter. */
const kMany = 2000;
const kPause_ms = 180;

/**
 * `show` hears what the line leaves as it is typed. While the line is no condition yet, what it left before stays, and
 * only one who has left the line is told in red. `words`: a text without a comparison is a condition too (filter.ts).
 */
export function filterLine(
  noun: string,
  all: readonly number[],
  columns: readonly FilterColumn[],
  placeholder: string,
  show: (shown: readonly number[], line: string) => void,
  words = false,
): FilterLine {
  const input = h('input', { type: 'search', size: 34, spellcheck: false, aria: { label: `filter of ${noun}s` } });
  input.placeholder = placeholder;
  input.title = `Conditions with commas between them, of: ${columns.map((c) => c.names.at(-1) ?? '').join(', ')}`;
  const said = h('span', { className: 'note', aria: { live: 'polite' } });
  let applied: { line: string; shown: number } | null = null;
  const apply = (typing: boolean) => {
    const parsed = parseFilter(input.value, columns, words);
    const wrong = 'error' in parsed;
    input.setAttribute('aria-invalid', String(wrong && !typing));
    said.classList.toggle('wrong', wrong && !typing);
    if (wrong) {
      said.textContent = parsed.error;
      return;
    }
    if (applied?.line !== input.value) {
      const shown = input.value.trim() === '' ? all : all.filter(parsed.test);
      applied = { line: input.value, shown: shown.length };
      show(shown, input.value.trim());
    }
    const kept = applied.shown;
    said.textContent = kept === all.length ? '' : `${kept.toLocaleString('en-US')} of ${count(all.length, noun)}`;
  };
  let pause: ReturnType<typeof setTimeout> | undefined;
  input.addEventListener('input', () => {
    clearTimeout(pause);
    if (all.length > kMany) pause = setTimeout(() => apply(true), kPause_ms);
    else apply(true);
  });
  for (const event of ['change', 'search'])
    input.addEventListener(event, () => {
      clearTimeout(pause);
      apply(false);
    });
  const write = (line: string) => {
    clearTimeout(pause);
    input.value = line;
    apply(false);
  };
  return { host: h('label', { className: 'choice filter' }, `${noun}s `, input, said), write };
}
