// SPDX-License-Identifier: Apache-2.0
// A table of numbered items: sortable by any column, a page at a time, the selected one always in sight.

import { h, type Child } from './dom';
import type { Look } from './looks';

const kPage = 50;

export interface TableColumn {
  name: string;
  names: string[]; // what the filter line may call it
  number: (item: number) => number | null;
  unit: string;
  text: (item: number) => string;
  other?: (item: number) => boolean; // is emphasised: differs from the base
  left?: boolean; // texts
  about?: string; // shown where the title is hovered
}

/** What is listed, and what the rows are like. */
export interface Listed {
  columns: readonly TableColumn[];
  key: string; // the rows have it as a data attribute
  by: string; // the column that sorts them first
  falling: boolean;
  order: string; // that order in words
  shown: () => readonly number[];
  selected: () => number | null;
  select: (item: number) => void;
  before?: (item: number) => Child[]; // of the first cell's text
  title?: (item: number) => string;
  orderLook?: Look; // among `orderNames` of the columns: where the address keeps the order
}

/** The orders that a table of these columns has: of each column rising, then falling. */
export const orderNames = (columns: readonly TableColumn[]): string[] => columns.flatMap((c) => [c.name, `-${c.name}`]);

export class SortedList {
  private readonly scroll = h('div', { className: 'scroll' });
  private readonly pager = h('div', { className: 'controls' });
  private by: number;
  private falling: boolean;
  private page = 0;
  private order: number[] = [];

  constructor(
    private readonly section: HTMLElement,
    private readonly listed: Listed,
  ) {
    this.by = listed.columns.findIndex((c) => c.name === listed.by);
    this.falling = listed.falling;
    this.follow();
    section.append(this.scroll, this.pager);
  }

  /** The order is that of the address. */
  private follow(): void {
    const look = this.listed.orderLook;
    if (look) [this.by, this.falling] = [Math.floor(look.at() / 2), look.at() % 2 === 1];
  }

  /** The address has another order. */
  reorder(): void {
    this.follow();
    this.refresh();
  }

  /** What is shown has changed, or the numbers by which it is sorted. */
  refresh(): void {
    this.sort();
    this.page = 0;
    this.draw();
  }

  /** Turns to the page of the selected item. */
  turnToSelected(): void {
    const at = this.order.indexOf(this.listed.selected() ?? -1);
    this.page = at < 0 ? this.page : Math.floor(at / kPage);
    this.draw();
  }

  private sort(): void {
    const column = this.listed.columns[this.by];
    this.order = column ? sorted(this.listed.shown(), column, this.falling) : [...this.listed.shown()];
  }

  private sortBy(i: number): void {
    this.falling = i === this.by ? !this.falling : false;
    this.by = i;
    const look = this.listed.orderLook;
    if (look) look.choose(2 * i + (this.falling ? 1 : 0));
    else this.refresh();
    this.scroll.querySelectorAll<HTMLElement>('thead button')[i]?.focus();
  }

  private draw(): void {
    this.section.dataset['rows'] = String(this.order.length);
    const rows = this.order.slice(this.page * kPage, (this.page + 1) * kPage);
    const body = h('tbody', {}, ...rows.map((item) => this.row(item)));
    this.scroll.replaceChildren(h('table', { className: 'list' }, this.head(), body));
    this.pager.replaceChildren(...this.pagerCells());
  }

  private head(): HTMLElement {
    const cells = this.listed.columns.map((c, i) => {
      const button = h('button', { type: 'button', className: 'link', title: c.about ?? '' }, c.name);
      button.addEventListener('click', () => this.sortBy(i));
      const way = i !== this.by ? 'none' : this.falling ? 'descending' : 'ascending';
      return h('th', { className: c.left ? 'left' : '', aria: { scope: 'col', sort: way } }, button);
    });
    return h('thead', {}, h('tr', {}, ...cells));
  }

  private row(item: number): HTMLElement {
    const { columns, key } = this.listed;
    const selected = item === this.listed.selected();
    const select = () => this.listed.select(item);
    const cells = columns.map((c, i) => {
      const side = c.left ? 'left' : 'right';
      if (i > 0) return h('td', { className: c.other?.(item) ? `${side} other` : side }, c.text(item));
      const pressed = { aria: { pressed: String(selected) } };
      const button = h('button', { type: 'button', className: 'link', ...pressed }, c.text(item));
      button.addEventListener('click', select);
      return h('td', { className: side }, ...(this.listed.before?.(item) ?? []), button);
    });
    const row = h('tr', { className: selected ? 'selected' : '', data: { [key]: String(item) } }, ...cells);
    row.title = this.listed.title?.(item) ?? '';
    row.addEventListener('click', select);
    return row;
  }

  private pagerCells(): HTMLElement[] {
    const rows = this.order.length;
    const last = Math.max(0, Math.ceil(rows / kPage) - 1);
    const button = (text: string, to: number) => {
      const b = h('button', { type: 'button', disabled: to < 0 || to > last }, text);
      b.addEventListener('click', () => {
        this.page = to;
        this.draw();
      });
      return b;
    };
    const from = rows === 0 ? 0 : this.page * kPage + 1;
    const until = Math.min(rows, (this.page + 1) * kPage);
    const where = `${from} to ${until} of ${rows.toLocaleString('en-US')}, ${this.listed.order} until another column is chosen`;
    const turns = rows > kPage ? [button('previous', this.page - 1), button('next', this.page + 1)] : [];
    return [...turns, h('span', { className: 'note' }, where)];
  }
}

/** The items in the order of a column, those without a value last; equal ones by their number. */
export function sorted(items: readonly number[], column: TableColumn, falling: boolean): number[] {
  const key = new Map<number, number | string | null>();
  for (const i of items) key.set(i, column.number(i) ?? (column.text(i) || null));
  return [...items].sort((a, b) => {
    const [x, y] = [key.get(a) ?? null, key.get(b) ?? null];
    if (x === null || y === null) return Number(x === null) - Number(y === null) || a - b;
    const order = x < y ? -1 : x > y ? 1 : 0;
    return (falling ? -order : order) || a - b;
  });
}
