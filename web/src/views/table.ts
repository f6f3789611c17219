// SPDX-License-Identifier: Apache-2.0
// All chips: sortable, a page at a time, the selected one always in sight.

import { columnsOf, sorted, type TableColumn } from '../columns';
import { isBase, textOf } from '../data';
import { h } from '../dom';
import type { State } from '../state';

const kPage = 50;

export function tableView(state: State): HTMLElement {
  const columns = columnsOf(state);
  const section = h('section', { id: 'chips', className: 'wide' }, h('h2', {}, 'Chips'));
  const scroll = h('div', { className: 'scroll' });
  const pager = h('div', { className: 'controls' });
  section.append(scroll, pager);
  let by = columns.findIndex((c) => c.name === 'time');
  let falling = false;
  let page = 0;
  let order: number[] = [];
  const draw = () => {
    section.dataset['rows'] = String(order.length);
    scroll.replaceChildren(
      tableOf(state, columns, order.slice(page * kPage, (page + 1) * kPage), { by, falling }, sortBy),
    );
    pager.replaceChildren(...pagerOf(page, order.length, turn));
  };
  const sort = () => {
    const column = columns[by];
    order = column ? sorted(state.get().shown, column, falling) : [...state.get().shown];
  };
  const sortBy = (i: number) => {
    falling = i === by ? !falling : false;
    by = i;
    page = 0;
    sort();
    draw();
    scroll.querySelectorAll<HTMLElement>('thead button')[i]?.focus();
  };
  const turn = (to: number) => {
    page = to;
    draw();
  };
  const show = () => {
    const at = order.indexOf(state.get().chip ?? -1);
    page = at < 0 ? page : Math.floor(at / kPage);
    draw();
  };
  state.watch(['shown', 'source', 'operator'], () => {
    sort();
    page = 0;
    draw();
  });
  state.watch(['chip'], show);
  return section;
}

interface Sorting {
  by: number;
  falling: boolean;
}

function tableOf(
  state: State,
  columns: readonly TableColumn[],
  chips: readonly number[],
  sorting: Sorting,
  sortBy: (i: number) => void,
): HTMLElement {
  const front = new Set(state.front());
  const head = columns.map((c, i) => {
    const button = h('button', { type: 'button', className: 'link' }, c.name);
    button.addEventListener('click', () => sortBy(i));
    const way = i !== sorting.by ? 'none' : sorting.falling ? 'descending' : 'ascending';
    return h('th', { aria: { scope: 'col', sort: way } }, button);
  });
  return h(
    'table',
    { className: 'list' },
    h('thead', {}, h('tr', {}, ...head)),
    h('tbody', {}, ...chips.map((chip) => rowOf(state, columns, chip, front.has(chip)))),
  );
}

function rowOf(state: State, columns: readonly TableColumn[], chip: number, onFront: boolean): HTMLElement {
  const selected = chip === state.get().chip;
  const select = () => state.set({ chip });
  const cells = columns.map((c, i) => {
    if (i > 0) return h('td', { className: c.other?.(chip) ? 'right other' : 'right' }, c.text(chip));
    const button = h(
      'button',
      { type: 'button', className: 'link', aria: { pressed: String(selected) } },
      c.text(chip),
    );
    button.addEventListener('click', select);
    const base = isBase(state.report, chip);
    return h(
      'td',
      { className: 'right' },
      base && h('small', {}, 'base '),
      onFront && h('small', {}, 'front '),
      button,
    );
  });
  const row = h('tr', { className: selected ? 'selected' : '', data: { chip: String(chip) } }, ...cells);
  row.title = textOf(state.report.chips.refused, chip) ?? '';
  row.addEventListener('click', select);
  return row;
}

function pagerOf(page: number, rows: number, turn: (to: number) => void): HTMLElement[] {
  const last = Math.max(0, Math.ceil(rows / kPage) - 1);
  const button = (text: string, to: number) => {
    const b = h('button', { type: 'button', disabled: to < 0 || to > last }, text);
    b.addEventListener('click', () => turn(to));
    return b;
  };
  const from = rows === 0 ? 0 : page * kPage + 1;
  const until = Math.min(rows, (page + 1) * kPage);
  const where = `${from} to ${until} of ${rows.toLocaleString('en-US')}, fastest first until another column is chosen`;
  return [button('previous', page - 1), button('next', page + 1), h('span', { className: 'note' }, where)];
}
