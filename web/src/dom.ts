// SPDX-License-Identifier: Apache-2.0
// Elements written as an expression. Texts become text nodes, so no name of a store is ever read as HTML.

export type Child = Node | string | null | undefined | false;

type Properties<T> = Partial<Omit<T, 'style' | 'dataset'>> & {
  style?: Record<string, string>;
  data?: Record<string, string>;
  aria?: Record<string, string>;
};

export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  properties: Properties<HTMLElementTagNameMap[K]> = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const { style, data, aria, ...rest } = properties;
  const element = document.createElement(tag);
  Object.assign(element, rest);
  for (const [name, value] of Object.entries(style ?? {})) element.style.setProperty(name, value);
  for (const [name, value] of Object.entries(data ?? {})) element.dataset[name] = value;
  for (const [name, value] of Object.entries(aria ?? {}))
    element.setAttribute(name === 'role' || name === 'scope' ? name : `aria-${name}`, value);
  for (const child of children) if (child) element.append(child);
  return element;
}

/** A labelled choice; `onChange` hears the index of what was chosen. */
export function choice(
  label: string,
  options: readonly string[],
  chosen: number,
  onChange: (index: number) => void,
): HTMLLabelElement {
  const select = h('select', { aria: { label } });
  options.forEach((text, i) => select.append(h('option', { value: String(i), selected: i === chosen }, text)));
  select.addEventListener('change', () => onChange(Number(select.value)));
  return h('label', { className: 'choice' }, `${label} `, select);
}

/** Puts these in the place of what the element holds. */
export function replace(host: HTMLElement, ...children: Child[]): void {
  host.replaceChildren(...children.filter((c): c is Node | string => Boolean(c)));
}

/** Of a line of controls; the one that has the focus keeps it, by its label. */
export function replaceControls(host: HTMLElement, ...controls: Child[]): void {
  const focused = host.contains(document.activeElement) ? document.activeElement?.getAttribute('aria-label') : null;
  replace(host, ...controls);
  if (focused) host.querySelector<HTMLElement>(`[aria-label="${CSS.escape(focused)}"]`)?.focus();
}

/** A sentence in place of what a store does not hold. */
export function absent(sentence: string): HTMLElement {
  return h('p', { className: 'absent' }, sentence);
}
