// SPDX-License-Identifier: Apache-2.0
// Arrow keys in a drawing: left and right go from one of its items to the next.

export function walkWithArrows(
  host: HTMLElement,
  items: () => readonly number[],
  chosen: () => number | null,
  choose: (item: number) => void,
): void {
  host.addEventListener('keydown', (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const all = items();
    const at = all.indexOf(chosen() ?? -1);
    const next = all[at < 0 ? 0 : Math.min(all.length - 1, Math.max(0, at + step))];
    if (next !== undefined) choose(next);
  });
}
