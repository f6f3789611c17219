// SPDX-License-Identifier: Apache-2.0
// A choice of the reader that views listen to: each is called when one of the keys that it looks at changes.

type Listener<Choice> = (changed: ReadonlySet<keyof Choice>) => void;

export class Watched<Choice extends object> {
  private readonly listeners: Listener<Choice>[] = [];

  constructor(protected choice: Choice) {}

  get(): Readonly<Choice> {
    return this.choice;
  }

  set(patch: Partial<Choice>): void {
    const changed = new Set<keyof Choice>();
    for (const key of Object.keys(patch) as (keyof Choice)[]) if (patch[key] !== this.choice[key]) changed.add(key);
    if (changed.size === 0) return;
    this.choice = { ...this.choice, ...patch };
    for (const listener of this.listeners) listener(changed);
  }

  /** Calls the view now, and whenever one of what it looks at has changed. */
  watch(keys: readonly (keyof Choice)[], view: () => void): void {
    this.listeners.push((changed) => {
      if (keys.some((k) => changed.has(k))) view();
    });
    view();
  }
}
