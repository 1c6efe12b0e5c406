import {
  type GuardrailRule,
  type JsonObject,
  type Problem,
  type ProblemDetail,
  type RolloutUnit,
  RuleDraft,
  unknownName,
  unstorableText,
} from '@agentlens/contracts';
import type { z } from 'zod';
import { ACTIONS, isMasked, mapActionSecrets, maskSecret } from '../actions/index.ts';
import type { Phase } from '../catalog/condition-module.ts';
import { CONDITIONS } from '../conditions/index.ts';
import { askableIn } from '../decisions/selectors.ts';
import { defaultOnUnavailable } from '../words/on-unavailable.ts';
import { problemsOf } from './problems.ts';
import { hiddenWalks } from './user-patterns.ts';

/** Actions that can decide the answer of a model. It has no arguments, and no client waits long enough for a person. */
const AFTER_ANSWERS: ReadonlySet<string> = new Set(['block', 'terminate_run', 'allow']);

/** Reports conflicts between condition, action and selector. Unknown types are reported elsewhere. */
function clashes(body: Record<string, unknown>): ProblemDetail[] {
  const { conditionType, actionType, selector } = body;
  const condition = typeof conditionType === 'string' ? CONDITIONS.get(conditionType) : undefined;
  const action = typeof actionType === 'string' ? ACTIONS.get(actionType) : undefined;
  if (condition === undefined || action === undefined) return [];
  const [phase] = action.phases;
  if (!condition.phases.includes(phase)) {
    return [{ path: 'conditionType', message: `${MISFIT[phase]}; actions that fit are ${fitting(condition.phases)}` }];
  }
  if (selector == null) return [];
  if (phase === 'stream') {
    return [{ path: 'selector', message: 'selects calls, which this action does not decide; remove it' }];
  }
  const askable: readonly unknown[] = askableIn(condition);
  return phasesOf(selector).flatMap((asked, at) => {
    const path = `selector.phases.${at}`;
    if (!askable.includes(asked)) return [{ path, message: `this condition is only asked in ${askable.join(', ')}` }];
    if (asked !== 'llm.after' || AFTER_ANSWERS.has(action.type)) return [];
    const message = `this action cannot decide an answer of a model; use one of ${[...AFTER_ANSWERS].join(', ')}`;
    return [{ path, message }];
  });
}

/** Rules on events stop agents, so that no other unit is possible. */
function unitOf({ actionType }: Pick<RuleDraft, 'actionType'>): RolloutUnit {
  return ACTIONS.get(actionType)?.phases[0] === 'stream' ? 'agent' : 'tree';
}

function rolloutProblems(draft: RuleDraft): ProblemDetail[] {
  const { mode, dryRun, rollout, rollback } = draft;
  if (mode === 'canary' && rollout == null) {
    return [{ path: 'rollout', message: 'is required with mode canary: send {"percent": 10}' }];
  }
  if (mode === 'canary' && dryRun) {
    return [{ path: 'dryRun', message: 'keeps the rule in shadow, which mode canary contradicts; remove it' }];
  }
  if (mode !== 'canary' && rollout != null) {
    return [{ path: 'rollout', message: 'is only possible with mode canary; remove it or send "mode": "canary"' }];
  }
  if (unitOf(draft) !== 'agent') return [];
  const details: ProblemDetail[] = [];
  if (rollout?.by !== undefined && rollout.by !== 'agent') {
    details.push({
      path: 'rollout.by',
      message: 'must be agent, because the action of this rule concerns a whole agent',
    });
  }
  for (const field of ['maxStopRate', 'maxFalseRejectionRate'] as const) {
    if (rollback?.[field] === undefined) continue;
    const message = 'is a share of calls, and a rule on events is not asked about calls; remove rollback';
    details.push({ path: `rollback.${field}`, message });
  }
  return details;
}

const MISFIT: Readonly<Record<Phase, string>> = {
  stream: 'can only be asked about calls, and this action only follows events',
  decision: 'cannot be asked about a call',
};

function fitting(phases: readonly Phase[]): string {
  const fit = ACTIONS.modules.filter((action) => action.phases.some((phase) => phases.includes(phase)));
  return fit.map(({ type }) => type).join(', ');
}

/** Phases as sent. Unknown ones are rejected with the rest of the form. */
function phasesOf(selector: unknown): readonly unknown[] {
  if (typeof selector !== 'object' || selector === null || !('phases' in selector)) return [];
  return Array.isArray(selector.phases) ? selector.phases : [];
}

export type ValidatedRule<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly problem: Problem };

/** A validated draft: configs completed with defaults; agent, selector and policy set or absent. */
export type ValidDraft = Omit<RuleDraft, Clearable | 'onUnavailable'> &
  Pick<GuardrailRule, Clearable | 'onUnavailable'>;

/** Fields that null clears. */
type Clearable = 'agentId' | 'selector' | 'policyId' | 'rollout' | 'guard' | 'rollback';

/** Fields that the API returns and that are ignored if sent back. */
const READ_ONLY = [
  ...['id', 'tenantId', 'version', 'createdAt', 'updatedAt', 'key', 'ruleset', 'appliedVersion'],
  ...['suspended', 'meaningVersion'],
];

/** Validates the body of `POST /api/guardrails` against the schema of a rule and against the catalogs. */
export function validateDraft(body: unknown): ValidatedRule<ValidDraft> {
  const unstorable = unstorableText(body);
  if (unstorable.length > 0) return refused(unstorable);
  const draft = RuleDraft.safeParse(body);
  const shape = draft.success ? [] : problemsOf(RuleDraft, draft.error);
  const seen = isObject(body) ? body : {};
  const condition = parsed('condition', CONDITIONS.types, seen, (type) => CONDITIONS.get(type)?.config);
  const action = parsed('action', ACTIONS.types, seen, (type) => ACTIONS.get(type)?.config);
  const details = [...shape, ...condition.details, ...action.details, ...maskedSecrets(seen), ...clashes(seen)];
  if (draft.success) details.push(...rolloutProblems(draft.data));
  if (draft.success) details.push(...hiddenWalks({ ...draft.data, conditionConfig: condition.config }));
  if (!draft.success || details.length > 0) return refused(details);
  const { agentId, selector, policyId, rollout, guard, rollback, ...rest } = draft.data;
  return {
    ok: true,
    value: {
      ...rest,
      ...(agentId == null ? {} : { agentId }),
      ...(selector == null ? {} : { selector }),
      ...(rollout == null ? {} : { rollout: { ...rollout, by: rollout.by ?? unitOf(draft.data) } }),
      ...(guard == null ? {} : { guard }),
      ...(rollback == null ? {} : { rollback }),
      ...(policyId == null ? {} : { policyId }),
      onUnavailable: rest.onUnavailable ?? defaultOnUnavailable(rest.actionType),
      conditionConfig: condition.config,
      actionConfig: action.config,
    },
  };
}

/**
 * Validates the body of `PUT /api/guardrails/:id`: any subset of a draft, applied to the stored rule. `agentId: null`
 * clears the scope. A config is replaced as a whole; a new type without a config starts from that type's defaults.
 * `existing` has its secrets unsealed. A masked secret in the body keeps the stored one if the address stays the same;
 * otherwise a new address would receive the secrets of the old one.
 */
export function validatePatch(existing: GuardrailRule, body: unknown): ValidatedRule<ValidDraft> {
  if (!isObject(body)) return refused([{ path: '', message: 'must be a JSON object with the fields to change' }]);
  const unstorable = unstorableText(body);
  if (unstorable.length > 0) return refused(unstorable);
  const changes = Object.fromEntries(Object.entries(body).filter(([key]) => !READ_ONLY.includes(key)));
  const merged: Record<string, unknown> = { ...draftOf(existing), ...changes };
  // Another mode ends the rollout of the stored rule. A mode that is sent overrides the older `dryRun`.
  if (changes.mode !== undefined && changes.mode !== 'canary') merged.rollout = changes.rollout;
  if (changes.mode === 'canary' && changes.dryRun === undefined) merged.dryRun = false;
  if (retyped(existing.conditionType, changes, 'conditionType') && changes.conditionConfig === undefined) {
    merged.conditionConfig = {};
  }
  if (retyped(existing.actionType, changes, 'actionType')) {
    merged.actionConfig = changes.actionConfig ?? {};
    // A rule that begins to require approval is as strict as a new one.
    if (defaultOnUnavailable(String(changes.actionType)) === 'block') merged.onUnavailable = changes.onUnavailable;
  } else if (isObject(changes.actionConfig) && !hasMoved(existing, changes.actionConfig)) {
    merged.actionConfig = unmasked(existing, changes.actionConfig);
  }
  return validateDraft(merged);
}

/** Returns the draft that would create a stored rule. */
export function draftOf(rule: object): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(rule).filter(([key, value]) => !READ_ONLY.includes(key) && value !== undefined),
  );
}

function retyped(type: string, changes: Record<string, unknown>, key: string): boolean {
  return changes[key] !== undefined && changes[key] !== type;
}

/** Returns true if an address of the action changed. */
function hasMoved({ actionType, actionConfig }: GuardrailRule, sent: JsonObject): boolean {
  return (ACTIONS.get(actionType)?.addresses ?? []).some((key) => sent[key] !== actionConfig[key]);
}

/** Replaces masks in the sent config with the stored secrets. */
function unmasked(existing: GuardrailRule, sent: JsonObject): JsonObject {
  const stored = new Map<string, string>();
  mapActionSecrets(existing.actionType, existing.actionConfig, (text, path) => {
    stored.set(path, text);
    return text;
  });
  return mapActionSecrets(existing.actionType, sent, (text, path) => {
    const kept = stored.get(path);
    return kept !== undefined && isMasked(text) && maskSecret(kept) === text ? kept : text;
  });
}

function maskedSecrets(body: Record<string, unknown>): ProblemDetail[] {
  const { actionType, actionConfig } = body;
  if (typeof actionType !== 'string' || ACTIONS.get(actionType) === undefined || !isObject(actionConfig)) return [];
  const details: ProblemDetail[] = [];
  mapActionSecrets(actionType, actionConfig, (text, path) => {
    if (isMasked(text)) {
      details.push({
        path: `actionConfig.${path}`,
        message: 'is the masked form of a secret: send the secret itself (a new address needs its secrets again)',
      });
    }
    return text;
  });
  return details;
}

interface Parsed {
  readonly config: JsonObject;
  readonly details: readonly ProblemDetail[];
}

function parsed(
  what: 'condition' | 'action',
  known: readonly string[],
  body: Record<string, unknown>,
  schemaOf: (type: string) => z.ZodType | undefined,
): Parsed {
  const type = body[`${what}Type`];
  // Absent or not a string: the schema of the rule reports it.
  if (typeof type !== 'string' || type === '') return { config: {}, details: [] };
  const schema = schemaOf(type);
  if (schema === undefined) {
    return { config: {}, details: [{ path: `${what}Type`, message: unknownName(`${what} type`, type, known) }] };
  }
  const config = body[`${what}Config`] ?? {};
  if (!isObject(config)) return { config: {}, details: [] };
  const result = schema.safeParse(config);
  return result.success
    ? { config: result.data as JsonObject, details: [] }
    : { config: {}, details: problemsOf(schema, result.error, [`${what}Config`]) };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function refused(details: readonly ProblemDetail[]): ValidatedRule<never> {
  return {
    ok: false,
    problem: {
      error: 'Validation failed',
      status: 400,
      details: details.slice(0, 20),
      hint: 'GET /api/guardrails/catalog lists every condition and action with its fields',
    },
  };
}
