import { aRule } from '@agentlens/testing';
import { NOW } from './operator-api.ts';

type Row = Record<string, unknown>;

/** Rows as the owning services write them, for tenant "acme" unless overridden. */

export function anEventRow(fields: Row = {}): Row {
  return {
    tenant_id: 'acme',
    occurred_at: NOW,
    event_id: 'event-1',
    run_id: 'run-1',
    agent_id: 'agent-1',
    session_id: null,
    kind: 'tool.called',
    dialect: 'agentlens',
    source_type: 'tool_call',
    severity: 'info',
    is_error: false,
    tags: [],
    payload: { toolName: 'search' },
    metadata: {},
    hash: 'hash',
    received_at: NOW,
    ...fields,
  };
}

export function aRunRow(fields: Row = {}): Row {
  return {
    tenant_id: 'acme',
    run_id: 'run-1',
    agent_id: 'agent-1',
    status: 'running',
    started_at: NOW,
    last_event_at: NOW,
    event_count: 3,
    error_count: 1,
    cost_usd: 0.62,
    tags: [],
    updated_at: NOW,
    ...fields,
  };
}

export function anAgentRow(fields: Row = {}): Row {
  return {
    tenant_id: 'acme',
    agent_id: 'agent-1',
    name: 'First agent',
    first_seen_at: NOW,
    last_seen_at: NOW,
    run_count: 1,
    event_count: 3,
    error_count: 1,
    cost_usd: 0.62,
    ...fields,
  };
}

export function aDirectiveRow(fields: Row = {}): Row {
  return {
    tenant_id: 'acme',
    agent_id: 'agent-1',
    directive_id: 'directive-1',
    version: 1,
    paused_at: NOW,
    pause_reason: 'Error rate 50.0% exceeds threshold 30%',
    model_override: 'small-model',
    model_override_at: NOW,
    model_override_reason: 'too costly',
    issued_at: NOW,
    ...fields,
  };
}

export function aRuleRow(fields: Row = {}): Row {
  return {
    tenant_id: 'acme',
    rule_id: 'rule-1',
    version: 1,
    name: 'Too many errors',
    enabled: true,
    condition_type: 'error_rate_threshold',
    condition_config: { threshold: 30, windowMinutes: 5, minEvents: 1 },
    action_type: 'pause_agent',
    action_config: {},
    cooldown_minutes: 15,
    dry_run: false,
    direction: 'both',
    priority: 0,
    created_at: NOW,
    updated_at: NOW,
    ...fields,
  };
}

export function aRuleVersionRow(fields: Row = {}): Row {
  const { rule_id = 'rule-1', tenant_id = 'acme', version = 1 } = fields;
  return {
    ...{ tenant_id, rule_id, version },
    body: aRule({ id: String(rule_id), tenantId: String(tenant_id), version: Number(version) }),
    changes: JSON.stringify([]),
    deleted: false,
    source: 'api',
    changed_by: 'ops (key-1)',
    reason: null,
    changed_at: NOW,
    ...fields,
  };
}

export function aTriggerRow(fields: Row = {}): Row {
  return {
    tenant_id: 'acme',
    triggered_at: NOW,
    trigger_id: 'trigger-1',
    rule_id: 'rule-1',
    rule_version: 1,
    rule_name: 'Too many errors',
    agent_id: 'agent-1',
    run_id: 'run-1',
    event_id: 'event-1',
    condition_type: 'error_rate_threshold',
    condition_value: 50,
    condition_threshold: 30,
    action_type: 'pause_agent',
    message: 'Error rate 50.0% exceeds threshold 30%',
    dry_run: false,
    action_result: 'success',
    ...fields,
  };
}

export function aCooldownRow(fields: Row = {}): Row {
  return {
    tenant_id: 'acme',
    rule_id: 'rule-1',
    agent_id: 'agent-1',
    dry_run: false,
    trigger_id: 'trigger-1',
    last_triggered_at: NOW,
    cooling_until: '2026-03-01T12:15:00.000Z',
    trigger_count: 4,
    ...fields,
  };
}

export function aStateRow(fields: Row = {}): Row {
  return {
    tenant_id: 'acme',
    rule_id: 'rule-1',
    agent_id: 'agent-1',
    last_evaluated_at: NOW,
    current_value: 50,
    degraded_reason: null,
    ...fields,
  };
}

export function aDeliveryRow(fields: Row = {}): Row {
  return {
    tenant_id: 'acme',
    delivery_id: 'delivery-1',
    trigger_id: 'trigger-1',
    triggered_at: NOW,
    rule_id: 'rule-1',
    agent_id: 'agent-1',
    action_type: 'notify_webhook',
    action_config: { url: 'https://example.com/hook', secret: 'sealed' },
    result: 'success',
    attempts: 2,
    created_at: NOW,
    settled_at: NOW,
    ...fields,
  };
}

export function aWebhookRow(fields: Row = {}): Row {
  return {
    tenant_id: 'acme',
    webhook_id: 'webhook-1',
    url: 'https://example.com/hook',
    destination: 'hash',
    events: ['approvals'],
    format: 'standard',
    enabled: true,
    secret: 'sealed',
    version: 1,
    created_at: NOW,
    updated_at: NOW,
    ...fields,
  };
}

export function anAttemptRow(fields: Row = {}): Row {
  return {
    tenant_id: 'acme',
    delivery_id: 'delivery-1',
    attempt: 1,
    started_at: NOW,
    finished_at: NOW,
    outcome: 'retry',
    http_status: 500,
    detail: 'HTTP 500',
    ...fields,
  };
}

export function aDailyRow(fields: Row = {}): Row {
  return {
    tenant_id: 'acme',
    agent_id: 'agent-1',
    day: '2026-03-01',
    event_count: 40,
    error_count: 4,
    tool_call_count: 20,
    tool_error_count: 2,
    llm_call_count: 10,
    cost_usd: 1.5,
    run_count: 10,
    run_error_count: 1,
    run_succeeded_count: 8,
    run_duration_ms: 100_000,
    run_cost_usd: 1.5,
    ...fields,
  };
}

export function anAlertRow(fields: Row = {}): Row {
  return {
    tenant_id: 'acme',
    alert_id: 'alert-1',
    kind: 'approval',
    status: 'pending',
    severity: 'warn',
    title: 'May it pay?',
    message: 'pay wants to run',
    agent_id: 'agent-1',
    run_id: 'run-1',
    rule_id: 'rule-1',
    approval: { runId: 'run-1', callId: 'call-1', toolName: 'pay', argsHash: 'a', ruleId: 'rule-1', ruleVersion: 1 },
    binding: 'binding',
    created_at: NOW,
    expires_at: '2026-03-01T12:15:00.000Z',
    version: 1,
    ...fields,
  };
}

export function anOrderRow(fields: Row = {}): Row {
  return {
    tenant_id: 'acme',
    scope: 'run',
    scope_id: 'run-1',
    order_id: 'order-1',
    agent_id: null,
    state: 'killed',
    reason: 'enough',
    ordered_by: 'ops (key-1)',
    version: 1,
    issued_at: NOW,
    ...fields,
  };
}

export function anAcknowledgementRow(fields: Row = {}): Row {
  return {
    tenant_id: 'acme',
    directive_id: 'order-1',
    instance_id: 'instance-1',
    agent_id: 'agent-1',
    acknowledged_at: '2026-03-01T12:00:00.012Z',
    ...fields,
  };
}

export function aBreakerRow(fields: Row = {}): Row {
  return {
    tenant_id: 'acme',
    scope: 'run',
    scope_id: 'run-1',
    agent_id: 'agent-1',
    state: { kind: 'open', openedAt: NOW, reason: 'tokens' },
    version: 1,
    changed_at: NOW,
    ...fields,
  };
}

export function aBreakerLimitsRow(fields: Row = {}): Row {
  return {
    tenant_id: 'acme',
    scope: 'agent',
    scope_id: 'agent-1',
    limits: { maxTokens: 5 },
    updated_at: NOW,
    ...fields,
  };
}

export function aBudgetRow(fields: Row = {}): Row {
  return {
    tenant_id: 'acme',
    budget_id: 'budget-1',
    name: 'Monthly',
    scope: 'agent',
    scope_id: 'agent-1',
    period: 'month',
    limit_usd: 12.5,
    enabled: true,
    on_unavailable: 'block',
    version: 1,
    created_at: NOW,
    updated_at: NOW,
    ...fields,
  };
}

export function aDecisionRow(fields: Row = {}): Row {
  return {
    tenant_id: 'acme',
    decision_id: 'decision-1',
    run_id: 'run-1',
    agent_id: 'agent-1',
    phase: 'tool.before',
    tool_name: 'pay',
    call_id: 'call-1',
    verdict: 'BLOCK',
    control: 'CONTINUE',
    effect: 'block',
    cause: { kind: 'RULE_VIOLATION', ruleId: 'rule-1' },
    message: 'Not at night',
    // Encoded as text, because pg would bind an array as a Postgres array.
    evaluated_rules: JSON.stringify([
      {
        ruleId: 'rule-1',
        ruleVersion: 1,
        enabled: true,
        matched: true,
        violated: true,
        effect: 'block',
        mode: 'enforce',
      },
    ]),
    final_rule_id: 'rule-1',
    approval_id: 'alert-1',
    bypasses: '[]',
    inputs_digest: 'digest',
    latency_ms: 0.4,
    decided_at: NOW,
    ...fields,
  };
}

export function anAuditRow(more: Row = {}): Row {
  return {
    tenant_id: 'acme',
    entry_id: 'entry-1',
    at: NOW,
    kind: 'settings.changed',
    target: 'settings',
    target_id: 'acme',
    person: 'ann@example.com',
    key_id: 'key-1',
    key_name: 'admin',
    ...more,
  };
}

export function anActivityRow(fields: Row = {}): Row {
  return {
    tenant_id: 'acme',
    agent_id: 'agent-1',
    grain: 'hour',
    bucket: '2026-03-01T11:00:00Z',
    event_count: 10,
    error_count: 1,
    tool_call_count: 4,
    llm_call_count: 2,
    input_tokens: 100,
    output_tokens: 20,
    cost_usd: 0.5,
    decision_count: 8,
    blocked_count: 2,
    asked_count: 1,
    bypassed_count: 0,
    latency_counts: [0, 8],
    ...fields,
  };
}
