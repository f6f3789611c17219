// SPDX-License-Identifier: Apache-2.0
// The page: reads its data, lays the views out, and keeps the selected chip in the address so that it can be cited.
// The data of a network has a page of its own (network/page.ts).

import { drawings } from './chart';
import { parse, sweepOf, type Report } from './data';
import { h } from './dom';
import { isNetwork, networkOf } from './network/data';
import { showNetwork } from './network/page';
import type { NetworkState } from './network/state';
import { cheapest } from './pareto';
import { State } from './state';
import './style.css';
import { bindingView } from './views/binding';
import { multiFidelityView } from './views/multi_fidelity';
import { frontView } from './views/front';
import { barView, headerView } from './views/header';
import { heatmapView } from './views/heatmap';
import { operatorsView } from './views/operators';
import { scatterView } from './views/scatter';
import { tableView } from './views/table';

declare global {
  interface Window {
    tilescope?: { state: State | NetworkState; drawings: typeof drawings };
  }
}

function chipOfAddress(report: Report): number | null {
  const found = /^#chip=(\d+)$/.exec(location.hash);
  const chip = found ? Number(found[1]) : -1;
  return chip >= 0 && chip < report.counts.chips ? chip : null;
}

function show(page: HTMLElement, report: Report): void {
  document.title = `${report.title} - Tilescope`;
  const state = new State(report);
  state.set({ chip: chipOfAddress(report) ?? cheapest(state.times(), state.get().shown) });
  page.append(headerView(state), barView(state));
  const views = [frontView, heatmapView, multiFidelityView, bindingView, scatterView, operatorsView, tableView];
  page.append(h('div', { id: 'views' }, ...views.map((view) => view(state))));
  page.append(h('footer', {}, `tilescope ${report.version}`));
  state.watch(['chip'], () => {
    const chip = state.get().chip;
    history.replaceState(null, '', chip === null ? location.pathname : `#chip=${chip}`);
  });
  addEventListener('hashchange', () => state.set({ chip: chipOfAddress(report) }));
  window.tilescope = { state, drawings };
}

const page = document.getElementById('page') as HTMLElement;
try {
  const parsed = parse(document.getElementById('report')?.textContent ?? '');
  if (isNetwork(parsed)) window.tilescope = { state: showNetwork(page, networkOf(parsed)), drawings };
  else show(page, sweepOf(parsed));
} catch (error) {
  page.replaceChildren(h('p', { className: 'wrong', id: 'failure' }, (error as Error).message));
}
requestAnimationFrame(() => requestAnimationFrame(() => performance.mark('tilescope-drawn')));
