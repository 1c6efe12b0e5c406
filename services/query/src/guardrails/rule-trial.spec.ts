import { type DecisionRequest, RuleDraft, sha256Hex } from '@agentlens/contracts';
import { type PastCall, validateDraft } from '@agentlens/guardrails';
import { describe, expect, it } from '@jest/globals';
import { tryRule } from './rule-trial.ts';

const NOW_MS = Date.parse('2026-03-01T12:00:00Z');

function draftOf(fields: object) {
  const checked = validateDraft(
    RuleDraft.parse({ name: 'r', actionType: 'block', conditionType: 'tool_name', ...fields }),
  );
  if (!checked.ok) throw new Error(JSON.stringify(checked.problem));
  return checked.value;
}

const request = (fields: Partial<DecisionRequest> = {}): DecisionRequest => ({
  tenantId: 'acme',
  agentId: 'payer',
  runId: 'run-1',
  phase: 'tool.before',
  tool: { name: 'pay', tags: [] },
  args: { amount: 500 },
  tags: {},
  subjects: [],
  metrics: {},
  receivedAt: new Date(NOW_MS).toISOString(),
  deadlineMs: 1_000,
  ...fields,
});

const over100 = draftOf({
  conditionType: 'tool_argument',
  conditionConfig: { path: 'amount', type: 'number', operator: 'gt', value: 100 },
  actionConfig: { message: 'Too much' },
  mode: 'shadow',
});

const call = (at: number): PastCall => ({
  callKey: `c${at}`,
  toolName: 'pay',
  toolTags: [],
  argsHash: sha256Hex('{"amount":500}'),
  atMs: NOW_MS - at,
  status: 'allowed',
});

describe('tryRule', () => {
  it('shows what the draft would do, even if its mode is shadow', () => {
    expect(tryRule(over100, { request: request(), history: [], nowMs: NOW_MS })).toMatchObject({
      asked: true,
      matched: true,
      effect: 'block',
      message: 'Too much',
    });
  });

  it('reports that the draft allows a call', () => {
    const small = request({ args: { amount: 5 } });
    expect(tryRule(over100, { request: small, history: [], nowMs: NOW_MS })).toMatchObject({
      matched: false,
      effect: 'allow',
    });
  });

  it('skips calls outside the scope of the rule', () => {
    const other = draftOf({ conditionConfig: { operator: 'eq', value: 'pay' }, agentId: 'somebody-else' });
    expect(tryRule(other, { request: request(), history: [], nowMs: NOW_MS })).toMatchObject({ asked: false });
  });

  it('skips rules that measure past events', () => {
    const measured = draftOf({ conditionType: 'cost_limit', actionType: 'pause_agent' });
    expect(tryRule(measured, { request: request(), history: [], nowMs: NOW_MS })).toMatchObject({ asked: false });
  });

  it('counts the earlier calls of the run', () => {
    const repeated = draftOf({ conditionType: 'repeated_call', conditionConfig: { times: 2, sameResult: false } });
    const after = (calls: number) =>
      tryRule(repeated, {
        request: request(),
        history: Array.from({ length: calls }, (_, i) => call(i + 1)),
        nowMs: NOW_MS,
      });
    expect(after(1)).toMatchObject({ matched: false });
    expect(after(2)).toMatchObject({ matched: true, effect: 'block' });
  });

  it('applies onUnavailable to a rule that counts over time', () => {
    const windowed = draftOf({
      conditionType: 'metric_window',
      conditionConfig: { metric: 'bytes_out', operator: 'gt', value: 1 },
      onUnavailable: 'block',
    });
    expect(tryRule(windowed, { request: request(), history: [], nowMs: NOW_MS })).toMatchObject({
      effect: 'block',
      bypass: { why: 'unavailable', did: 'block' },
    });
  });
});
