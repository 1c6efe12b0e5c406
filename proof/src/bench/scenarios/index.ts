import type { Scenario } from '../scenario.ts';
import { channels } from './channels.ts';
import { decisionShare, decisions, decisionsBesideOpa } from './decisions.ts';
import { hostile } from './hostile.ts';
import { backtests, reprices } from './jobs.ts';
import { lifecycle } from './lifecycle.ts';
import { log } from './log.ts';
import { machine } from './machine.ts';
import { modelGateway } from './model-gateway.ts';
import { otlp } from './otlp.ts';
import { queries } from './queries.ts';
import { sessions } from './sessions.ts';
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
  channels,
  decisionsBesideOpa,
  decisions,
  decisionShare,
  modelGateway,
  hostile,
  otlp,
  log,
  standalone,
  lifecycle,
  queries,
  sessions,
  reprices,
  backtests,
];
