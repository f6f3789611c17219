// SPDX-License-Identifier: Apache-2.0
// The page of a network; the selected group is in the address, by its number.

import { h } from '../dom';
import { SortedList } from '../sorted_list';
import { barsView } from './bars';
import { networkColumns } from './columns';
import type { NetworkReport } from './data';
import { graphView } from './graph';
import { groupView } from './group';
import { barView, headerView, memoryView, totalsView } from './header';
import './network.css';
import { NetworkState } from './state';

/** The box of the group that the address names. */
function boxOfAddress(state: NetworkState): number | null {
  const found = /^#group=(\d+)$/.exec(location.hash);
  return found ? (state.picture.boxOf[Number(found[1])] ?? null) : null;
}

export function showNetwork(page: HTMLElement, report: NetworkReport): NetworkState {
  document.title = `${report.title} - Tilescope`;
  const state = new NetworkState(report);
  state.set({ box: boxOfAddress(state) });
  page.append(headerView(state), barView(state));
  const views = [totalsView, barsView, memoryView, graphView, groupView, tableView];
  page.append(h('div', { id: 'views', className: 'network' }, ...views.map((view) => view(state))));
  page.append(h('footer', {}, `tilescope ${report.version}`));
  state.watch(['box'], () => {
    const { box } = state.get();
    history.replaceState(null, '', box === null ? location.pathname : `#group=${state.box(box).groups[0]}`);
  });
  addEventListener('hashchange', () => state.set({ box: boxOfAddress(state) }));
  return state;
}

function tableView(state: NetworkState): HTMLElement {
  const section = h('section', { id: 'groups', className: 'wide' }, h('h2', {}, 'Groups'));
  const list = new SortedList(section, {
    columns: networkColumns(state),
    key: 'box',
    by: 'share',
    falling: true,
    order: 'longest first',
    shown: () => state.get().shown,
    selected: () => state.get().box,
    select: (box) => state.set({ box }),
    title: (box) => state.box(box).first.error ?? '',
  });
  state.watch(['shown', 'source'], () => list.refresh());
  state.watch(['box'], () => list.turnToSelected());
  return section;
}
