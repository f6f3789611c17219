// SPDX-License-Identifier: Apache-2.0
// All chips: sortable, a page at a time, the selected one always in sight.

import { columnsOf } from '../columns';
import { isBase, textOf } from '../data';
import { h } from '../dom';
import { watchLooks } from '../looks';
import { orderNames, SortedList } from '../sorted_list';
import type { State } from '../state';

export function tableView(state: State): HTMLElement {
  const section = h('section', { id: 'chips', className: 'wide' }, h('h2', {}, 'Chips'));
  let front = new Set<number>();
  const columns = columnsOf(state);
  const names = orderNames(columns);
  const orderLook = state.look('sort', names, names.indexOf('time'));
  const list = new SortedList(section, {
    columns,
    orderLook,
    key: 'chip',
    by: 'time',
    falling: false,
    order: 'fastest first',
    shown: () => state.get().shown,
    selected: () => state.get().chip,
    select: (chip) => state.set({ chip }),
    before: (chip) => [
      isBase(state.report, chip) && h('small', {}, 'base '),
      front.has(chip) && h('small', {}, 'front '),
    ],
    title: (chip) => textOf(state.report.chips.refused, chip) ?? '',
  });
  state.watch(['shown', 'source', 'operator', 'network'], () => {
    front = new Set(state.front());
    list.refresh();
  });
  watchLooks(state, [orderLook], () => list.reorder());
  state.watch(['chip'], () => {
    front = new Set(state.front());
    list.turnToSelected();
  });
  return section;
}
