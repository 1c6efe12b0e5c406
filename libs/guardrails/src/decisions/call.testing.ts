import type { DecisionRequest, GuardrailRule } from '@agentlens/contracts';
import { aRule } from '@agentlens/testing';
import { CONDITIONS } from '../conditions/index.ts';
import type { PastCall } from '../ports/call-history.ts';
import { activate } from '../rules/active-rule.ts';
import type { DecisionAnswer } from './answer.ts';
import { callTest } from './call-test.ts';
import type { DecisionRule } from './decision-rule.ts';
import { callView, type DecisionFacts, type FactNeeds } from './facts.ts';
import { factsNeeded } from './facts-needed.ts';

export const NOW = '2026-11-21T12:00:00.000Z';

export function aRequest(fields: Partial<DecisionRequest> = {}): DecisionRequest {
  return {
    tenantId: 'acme',
    agentId: 'agent-1',
    runId: 'run-1',
    phase: 'tool.before',
    tool: { name: 'search', tags: [] },
    args: {},
    result: undefined,
    tags: {},
    subjects: [],
    metrics: {},
    receivedAt: NOW,
    deadlineMs: 100,
    ...fields,
  };
}

/** An activated rule about calls. Throws if it cannot be activated. */
export function aDecisionRule(fields: Partial<GuardrailRule> = {}): DecisionRule {
  const rule = activate(
    aRule({
      conditionType: 'tool_name',
      conditionConfig: { value: '*' },
      actionType: 'block',
      actionConfig: {},
      cooldownMinutes: 0,
      ...fields,
    }),
  );
  if (!rule.ok) throw new Error(rule.reason);
  if (rule.value.cadence !== 'call') throw new Error('not a rule about calls');
  return rule.value;
}

export function aPastCall(fields: Partial<PastCall> = {}): PastCall {
  const atMs = Date.parse(NOW) - 1000;
  return { callKey: 'c', toolName: 'search', toolTags: [], argsHash: 'h', atMs, status: 'completed', ...fields };
}

const NOTHING: FactNeeds = { history: false, agent: false, series: [], increments: [], undo: [] };

export function someFacts(fields: Partial<DecisionFacts> = {}): DecisionFacts {
  return { needs: NOTHING, argsHash: 'h', history: [], totals: [], ...fields };
}

/** Evaluates a condition for a request. Throws if the config is invalid. */
export function answerTo(
  type: string,
  config: object,
  request: Partial<DecisionRequest>,
  facts: Partial<DecisionFacts> = {},
): DecisionAnswer {
  const asked = aRequest(request);
  const module = CONDITIONS.get(type);
  const test = module && callTest(module, module.config.parse(config));
  if (!test) throw new Error(`${type} does not support calls`);
  const rule = { needs: (of: DecisionRequest) => test.needs?.(of) ?? {}, selects: {} } as DecisionRule;
  const needs = factsNeeded([rule], asked);
  return test.matches(callView(asked, someFacts({ needs, ...facts }), Date.parse(asked.receivedAt)));
}
