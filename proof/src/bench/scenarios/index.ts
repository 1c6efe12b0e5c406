import type { Scenario } from '../scenario.ts';
import { decisions } from './decisions.ts';
import { hostile } from './hostile.ts';
import { backtests, reprices } from './jobs.ts';
import { lifecycle } from './lifecycle.ts';
import { machine } from './machine.ts';
import { otlp } from './otlp.ts';
import { queries } from './queries.ts';
import { counters, rules, tenants, windows } from './rules-and-windows.ts';
import { batchesOf10, batchesOf100, singleEvents, standalone } from './throughput.ts';
import { triggerLatency, webhooks } from './triggers.ts';

/** In the order in which they run. */
export const SCENARIOS: readonly Scenario[] = [
  machine,
  batchesOf100,
  batchesOf10,
  singleEvents,
  triggerLatency,
  rules,
  counters,
  windows,
  tenants,
  webhooks,
  decisions,
  hostile,
  otlp,
  standalone,
  lifecycle,
  queries,
  reprices,
  backtests,
];
