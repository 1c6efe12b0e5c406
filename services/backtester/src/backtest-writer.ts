import {
  type Backtest,
  BacktestDraft,
  DAY_MS,
  detailsOf,
  type GuardrailRule,
  type Problem,
  timeOrderedId,
} from '@agentlens/contracts';
import { activate, decidesCalls, validateDraft } from '@agentlens/guardrails';
import type { Clock } from '@agentlens/platform';
import { NO_TICKS } from '@agentlens/replay';
import type { BacktestsRepository, NewBacktest } from './backtests.repository.ts';

const DEFAULT_RANGE_DAYS = 7;
const MAX_RANGE_DAYS = 31;

type Refusal = { readonly ok: false; readonly problem: Problem };
type Answer = { readonly ok: true; readonly value: Backtest } | Refusal;

/** Queues and cancels backtests. Refusals are returned, not thrown. */
export class BacktestWriter {
  readonly #repository: Pick<BacktestsRepository, 'insert' | 'cancel' | 'find' | 'rule'>;
  readonly #clock: Clock;
  readonly #retentionDays: number;

  constructor(
    repository: Pick<BacktestsRepository, 'insert' | 'cancel' | 'find' | 'rule'>,
    clock: Clock,
    retentionDays: number,
  ) {
    this.#repository = repository;
    this.#clock = clock;
    this.#retentionDays = retentionDays;
  }

  async create(tenantId: string, body: unknown, by?: string): Promise<Answer> {
    const draft = BacktestDraft.safeParse(body);
    if (!draft.success) return refused('Validation failed', 400, { details: detailsOf(draft.error) });
    const rules = await this.#rules(tenantId, draft.data);
    if ('problem' in rules) return rules;
    const nowMs = this.#clock.now();
    const range = this.#range(draft.data, nowMs);
    if ('problem' in range) return range;
    const { agentIds, assume, ruleId, version } = draft.data;
    const job: NewBacktest = {
      ...{ id: timeOrderedId(nowMs), tenantId, createdAt: new Date(nowMs).toISOString(), createdBy: by },
      spec: { ...range, assume, ...(agentIds && { agentIds }), ...(ruleId && { ruleId }), ...(version && { version }) },
      ...rules,
    };
    const queued = await this.#repository.insert(job);
    if (queued !== null) return { ok: true, value: queued };
    return refused('There are too many backtests', 429, { hint: 'Wait until one has finished, or cancel one' });
  }

  async cancel(tenantId: string, id: string): Promise<Answer> {
    await this.#repository.cancel(tenantId, id);
    const found = await this.#repository.find(tenantId, id);
    return found === null ? refused('Backtest not found', 404) : { ok: true, value: found };
  }

  async #rules(tenantId: string, draft: BacktestDraft): Promise<Pick<NewBacktest, 'rule' | 'inForce'> | Refusal> {
    const { against, ruleId } = draft;
    const stored = ruleId === undefined ? null : await this.#repository.rule(tenantId, ruleId);
    const rule = await this.#judged(tenantId, draft, stored);
    if ('ok' in rule) return rule;
    const cadence = cadenceOf(rule, 'rule');
    if (typeof cadence !== 'string') return cadence;
    if (against === undefined)
      return { rule: withoutSecrets(rule), inForce: stored ? withoutSecrets(stored) : undefined };
    const other = this.#drafted({ tenantId, id: AGAINST }, 'against', against);
    if ('ok' in other) return other;
    const its = cadenceOf(other, 'against');
    if (typeof its !== 'string') return its;
    if (its === cadence) return { rule: withoutSecrets(rule), inForce: withoutSecrets(other) };
    const message = 'must decide calls or watch events, as "rule" does';
    return refused('The rules cannot be compared', 422, { details: [{ path: 'against.conditionType', message }] });
  }

  /** The rule to evaluate: the draft, the version of the stored rule, or the stored rule. */
  async #judged(
    tenantId: string,
    { rule, ruleId, version }: BacktestDraft,
    stored: GuardrailRule | null,
  ): Promise<GuardrailRule | Refusal> {
    if (ruleId !== undefined && stored === null) return refused('Guardrail rule not found', 404);
    if (rule !== undefined) return this.#drafted({ tenantId, id: ruleId ?? 'draft' }, 'rule', rule);
    const found = version === undefined ? stored : await this.#repository.rule(tenantId, ruleId ?? '', version);
    return found ?? refused(`Version ${version} of this rule is not recorded`, 404);
  }

  #drafted(
    names: Pick<GuardrailRule, 'tenantId' | 'id'>,
    field: 'rule' | 'against',
    draft: unknown,
  ): GuardrailRule | Refusal {
    const valid = validateDraft(draft);
    if (!valid.ok) return { ok: false, problem: { ...valid.problem, details: placed(valid.problem, field) } };
    const at = new Date(this.#clock.now()).toISOString();
    return { ...valid.value, ...names, version: 1, createdAt: at, updatedAt: at };
  }

  #range({ from, to }: BacktestDraft, nowMs: number) {
    const toMs = Math.min(nowMs, to === undefined ? nowMs : Date.parse(to));
    const wantedMs = from === undefined ? toMs - DEFAULT_RANGE_DAYS * DAY_MS : Date.parse(from);
    if (wantedMs >= toMs) return refused('Validation failed', 400, { details: [{ path: 'from', message: IN_FUTURE }] });
    const retainedMs = this.#retentionDays === 0 ? 0 : nowMs - this.#retentionDays * DAY_MS;
    const fromMs = Math.max(wantedMs, retainedMs);
    if (toMs <= fromMs) {
      const message = `is before what is retained (${this.#retentionDays} days); use a later range`;
      return refused('Validation failed', 400, { details: [{ path: 'to', message }] });
    }
    if (toMs - fromMs > MAX_RANGE_DAYS * DAY_MS) {
      const message = `must be within ${MAX_RANGE_DAYS} days of "to"; split the range into several backtests`;
      return refused('Validation failed', 400, { details: [{ path: 'from', message }] });
    }
    return {
      ...{ from: new Date(fromMs).toISOString(), to: new Date(toMs).toISOString() },
      ...(fromMs === wantedMs ? {} : { clampedFrom: new Date(wantedMs).toISOString() }),
    };
  }
}

/** Id of a draft that is only compared with. */
export const AGAINST = 'against';
const IN_FUTURE = 'must be before "to" and in the past';

/** What makes the rule fire, or why it cannot be backtested. */
function cadenceOf(rule: GuardrailRule, field: 'rule' | 'against') {
  const active = activate(rule);
  if (!active.ok)
    return refused('The rule cannot be evaluated', 422, { details: [{ path: field, message: active.reason }] });
  const { cadence } = active.value;
  if (cadence !== 'tick') return cadence;
  return refused('The rule cannot be backtested', 422, {
    details: [{ path: `${field}.conditionType`, message: NO_TICKS }],
  });
}

/** Only decision actions are part of an evaluation; the configs of others may hold secrets. */
function withoutSecrets(rule: GuardrailRule): GuardrailRule {
  return decidesCalls(rule.actionType) ? rule : { ...rule, actionConfig: {} };
}

function placed({ details = [] }: Problem, field: string) {
  return details.map(({ path, message }) => ({ path: path === '' ? field : `${field}.${path}`, message }));
}

function refused(error: string, status: number, more: Partial<Problem> = {}): Refusal {
  return { ok: false, problem: { error, status, ...more } };
}
