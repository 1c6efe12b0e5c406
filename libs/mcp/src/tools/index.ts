import type { McpTool } from '../tool.ts';
import { agents } from './agents.ts';
import { alerts } from './alerts.ts';
import { approvals } from './approvals.ts';
import { breakers } from './breakers.ts';
import { budgets } from './budgets.ts';
import { catalog } from './catalog.ts';
import { control } from './control.ts';
import { deliveries } from './deliveries.ts';
import { events } from './events.ts';
import { guardrails } from './guardrails.ts';
import { metrics } from './metrics.ts';
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
