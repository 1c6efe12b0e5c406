import type { McpTool } from '../tool.ts';
import { agents } from './agents.ts';
import { approvals } from './approvals.ts';
import { budgets } from './budgets.ts';
import { breakers, control } from './control.ts';
import { events } from './events.ts';
import { catalog, guardrails } from './guardrails.ts';
import { metrics } from './metrics.ts';
import { alerts, deliveries } from './notifications.ts';
import { runs } from './runs.ts';
import { whoami } from './whoami.ts';

export const TOOLS: readonly McpTool[] = [
  guardrails,
  catalog,
  runs,
  events,
  agents,
  approvals,
  alerts,
  control,
  budgets,
  breakers,
  metrics,
  deliveries,
  whoami,
];
