import { getAgent, getAgentHealth, getHealthOverview, listAgents, unpauseAgent } from '../agents/agents.operations.ts';
import {
  acknowledgeAlert,
  approveAlert,
  cancelAlert,
  denyAlert,
  getAlert,
  listAlerts,
  openAlertStream,
} from '../alerts/alerts.operations.ts';
import { getAnalytics, getOverview, getStats } from '../analytics/analytics.operations.ts';
import { getBreakerLimits, listBreakers, resetBreaker, setBreakerLimits } from '../breakers/breakers.operations.ts';
import { createBudget, deleteBudget, getBudget, listBudgets } from '../budgets/budgets.operations.ts';
import { listControl, orderControl } from '../control/control.operations.ts';
import { getEvent, listEvents } from '../events/events.operations.ts';
import { listDeliveries, redeliver } from '../guardrails/deliveries.operations.ts';
import {
  createRule,
  deleteRule,
  getCatalog,
  getRule,
  getRuleStatus,
  listRules,
  updateRule,
} from '../guardrails/rules.operations.ts';
import { listActions, listHistory } from '../guardrails/triggers.operations.ts';
import type { Operation } from '../http/operation.ts';
import { createKey, listKeys, revokeKey, rotateKey } from '../keys/keys.operations.ts';
import { getMetrics } from '../metrics/metrics.operations.ts';
import {
  getRun,
  getRunTimeline,
  getRunTree,
  listRunDecisions,
  listRunEvents,
  listRuns,
} from '../runs/runs.operations.ts';
import { getFeatures, getOpenApi, getServiceHealth } from '../service/service.operations.ts';
import { getSession, getTimeline, listSessions } from '../sessions/sessions.operations.ts';
import { getSettings, putSettings } from '../settings/settings.operations.ts';
import { openStream } from '../stream/stream.operations.ts';
import { EDGE_OPERATIONS } from './edge.operations.ts';

/** Every route of this service. A spec compares it with what the server has registered. */
export const QUERY_OPERATIONS: readonly Operation[] = [
  createRule,
  listRules,
  getCatalog,
  getRule,
  updateRule,
  deleteRule,
  getRuleStatus,
  listHistory,
  listActions,
  listDeliveries,
  redeliver,
  listEvents,
  getEvent,
  listSessions,
  getSession,
  getTimeline,
  listRuns,
  getRun,
  listRunEvents,
  listRunDecisions,
  getRunTimeline,
  getRunTree,
  listAgents,
  getAgent,
  unpauseAgent,
  getAgentHealth,
  getHealthOverview,
  getAnalytics,
  getStats,
  getOverview,
  getMetrics,
  listAlerts,
  getAlert,
  acknowledgeAlert,
  approveAlert,
  denyAlert,
  cancelAlert,
  openAlertStream,
  orderControl,
  listControl,
  listBreakers,
  getBreakerLimits,
  setBreakerLimits,
  resetBreaker,
  createBudget,
  listBudgets,
  getBudget,
  deleteBudget,
  getSettings,
  putSettings,
  openStream,
  createKey,
  listKeys,
  rotateKey,
  revokeKey,
  getServiceHealth,
  getFeatures,
  getOpenApi,
];

/** Every route of the public address. */
export const OPERATIONS: readonly Operation[] = [...QUERY_OPERATIONS, ...EDGE_OPERATIONS];
