// SPDX-License-Identifier: Apache-2.0
// A choice that one view offers, as part of what is chosen, so that the address has it.

import type { State } from './state';

export class Look {
  constructor(
    private readonly state: State,
    readonly key: string,
    readonly names: readonly string[],
    private readonly first: string,
  ) {}

  name(): string {
    const said = this.state.get().looks[this.key];
    return said !== undefined && this.names.includes(said) ? said : this.first;
  }

  /** The index of the name. */
  at(): number {
    return this.names.indexOf(this.name());
  }

  isFirst(): boolean {
    return this.name() === this.first;
  }

  choose(i: number): void {
    chooseAll(this.state, [[this, i]]);
  }
}

/** Several at once: an axis that changes places with another. */
export function chooseAll(state: State, choices: readonly (readonly [Look, number])[]): void {
  const looks = { ...state.get().looks };
  for (const [look, i] of choices) looks[look.key] = look.names[i] ?? '';
  state.set({ looks });
}

/** Calls the view once where another name of any of these is chosen. */
export function watchLooks(state: State, looks: readonly Look[], view: () => void): void {
  const now = () => looks.map((l) => l.name()).join('\n');
  let last = now();
  state.watch(['looks'], () => {
    const next = now();
    if (next === last) return;
    last = next;
    view();
  });
}
