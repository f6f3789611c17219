// SPDX-License-Identifier: Apache-2.0
// The page: reads its data, lays the views out, and keeps what is chosen in the address so that it can be cited.
// The data of a network has a page of its own (network/page.ts).

import { addressOf, choiceOf, sparingly } from './address';
import { drawings, drawWaiting } from './chart';
import { parse, sweepOf, type Report } from './data';
import { h } from './dom';
import { bestChip } from './headline';
import { isNetwork, networkOf } from './network/data';
import { showNetwork } from './network/page';
import type { NetworkState } from './network/state';
import { cheapest } from './pareto';
import { State } from './state';
import './style.css';
import './decision.css';
import './sources.css';
import './print.css';
import { bindingView } from './views/binding';
import { multiFidelityView } from './views/multi_fidelity';
import { frontView } from './views/front';
import { barView, headerView } from './views/header';
import { headlineView } from './views/headline';
import { heatmapView } from './views/heatmap';
import { operatorsView } from './views/operators';
import { parallelView } from './views/parallel';
import { partsView } from './views/parts';
import { rooflineView } from './views/roofline';
import { scatterView } from './views/scatter';
import { sensitivityView } from './views/sensitivity';
import { sourcesView } from './views/sources';
import { tableView } from './views/table';
import { timelineView } from './views/timeline';

declare global {
  interface Window {
    tilescope?: { state: State | NetworkState; drawings: typeof drawings };
  }
}

function show(page: HTMLElement, report: Report): void {
  document.title = `${report.title} - Tilescope`;
  const state = new State(report);
  state.set({ chip: bestChip(state) ?? cheapest(state.times(), state.get().shown) });
  const start = state.get();
  const bar = barView(state);
  // The line is the filter's to take: one that is no condition chooses nothing.
  const follow = () => {
    const { line = '', ...choice } = choiceOf(state, start, location.hash);
    state.set(choice);
    state.filter(line);
  };
  follow();
  page.append(headerView(state), headlineView(state), bar);
  const views = [frontView, heatmapView, partsView, parallelView, multiFidelityView, rooflineView, bindingView];
  views.push(timelineView, scatterView, sensitivityView, operatorsView, sourcesView, tableView);
  page.append(h('div', { id: 'views' }, ...views.map((view) => view(state))));
  page.append(h('footer', {}, `tilescope ${report.version}`));
  const write = sparingly(() => history.replaceState(null, '', addressOf(state, start)));
  state.watch(['chip', 'line', 'x', 'y', 'xMore', 'yMore', 'source', 'operator', 'network', 'looks'], write);
  addEventListener('hashchange', follow);
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
requestAnimationFrame(() =>
  requestAnimationFrame(() => {
    performance.mark('tilescope-drawn');
    setTimeout(() => drawWaiting(() => performance.mark('tilescope-complete')));
  }),
);
