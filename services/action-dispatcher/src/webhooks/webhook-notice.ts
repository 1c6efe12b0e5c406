import {
  type Alert,
  type AuditRecord,
  alertChanged,
  type BreakerChanged,
  type BudgetReached,
  breakerChanged,
  type ControlOrder,
  controlOrdered,
  guardrailTriggered,
  type Trigger,
  type WebhookEvent,
} from '@agentlens/contracts';

/** An event that webhook endpoints can listen to. */
export interface WebhookNotice {
  readonly tenantId: string;
  readonly event: WebhookEvent;
  readonly message: WebhookMessage;
  /** The same for each repetition. */
  readonly key: string;
  /** RFC 3339, the same for each repetition. Default: the time of the message. */
  readonly since?: string;
  /** Subject, for the delivery log; empty if there is none. */
  readonly about: { readonly id: string; readonly ruleId: string; readonly agentId: string };
  /** Of interest to programs only; channels that people read skip it. */
  readonly minor?: boolean;
}

/** `type`, `timestamp` and `data` of Standard Webhooks. */
export interface WebhookMessage {
  readonly type: string;
  readonly timestamp: string;
  readonly data: object;
}

export const APPROVAL_CHANGED = 'approval.changed';
export const AUDIT_RECORDED = 'audit.recorded';
export const BUDGET_REACHED = 'budget.reached';
export const WEBHOOK_TEST = 'webhook.test';

/** @param at time of the change */
export function noticeOfAlert(alert: Alert, at: string): WebhookNotice {
  const approval = alert.kind === 'approval';
  return {
    tenantId: alert.tenantId,
    event: approval ? 'approvals' : 'alerts',
    message: { type: approval ? APPROVAL_CHANGED : alertChanged.name, timestamp: at, data: alert },
    key: `${alert.id}:${alert.version}`,
    about: { id: alert.id, ruleId: alert.ruleId ?? '', agentId: alert.agentId },
    // Use and expiry of a decided approval are of interest to programs only.
    minor: approval && alert.decidedBy !== undefined && (alert.usedAt !== undefined || alert.status === 'expired'),
  };
}

export function noticeOfTrigger(trigger: Trigger): WebhookNotice {
  return {
    tenantId: trigger.tenantId,
    event: 'triggers',
    message: { type: guardrailTriggered.name, timestamp: trigger.triggeredAt, data: trigger },
    key: trigger.id,
    about: { id: trigger.id, ruleId: trigger.ruleId, agentId: trigger.agentId },
  };
}

export function noticeOfOrder(order: ControlOrder): WebhookNotice {
  const { scope, scopeId, agentId = scope === 'agent' ? scopeId : '' } = order;
  return {
    tenantId: order.tenantId,
    event: 'orders',
    message: { type: controlOrdered.name, timestamp: order.issuedAt, data: order },
    key: order.id,
    about: { id: order.id, ruleId: '', agentId },
  };
}

/** Names the breaker in messages to people. A tree is named by its topmost run. */
export function nameOfBreaker({ scope, scopeId }: Pick<BreakerChanged, 'scope' | 'scopeId'>): string {
  return scope === 'tree' ? `run tree ${scopeId}` : `${scope} ${scopeId}`;
}

export function noticeOfBreaker(change: BreakerChanged): WebhookNotice {
  const id = `${change.scope}:${change.scopeId}:${change.version}`;
  return {
    tenantId: change.tenantId,
    event: 'breakers',
    message: { type: breakerChanged.name, timestamp: change.at, data: change },
    key: id,
    about: { id, ruleId: '', agentId: change.agentId },
  };
}

export function noticeOfChange(change: AuditRecord): WebhookNotice {
  return {
    tenantId: change.tenantId,
    event: 'audit',
    message: { type: AUDIT_RECORDED, timestamp: change.changedAt, data: change },
    key: change.id,
    about: { id: change.id, ruleId: change.target === 'rule' ? change.targetId : '', agentId: '' },
  };
}

/** Once per budget, period, share and limit. */
export function noticeOfBudget(reached: BudgetReached): WebhookNotice {
  const { budget, scopeId, periodStart, share, at } = reached;
  const { at: _, ...data } = reached;
  return {
    tenantId: budget.tenantId,
    event: 'budgets',
    message: { type: BUDGET_REACHED, timestamp: at, data },
    key: JSON.stringify([budget.id, scopeId, periodStart, share, budget.limitUsd]),
    since: budget.createdAt,
    about: { id: budget.id, ruleId: '', agentId: budget.scope === 'agent' ? scopeId : '' },
  };
}
