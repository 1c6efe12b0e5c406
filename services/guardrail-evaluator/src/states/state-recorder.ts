import { type Database, inHalves, refusalText } from '@agentlens/database';
import { observeQueue } from '@agentlens/messaging';
import { LoopProgress, type Platform } from '@agentlens/platform';
import type { EvaluatorDropMetrics } from '../evaluator-metrics.ts';

const FLUSH_MS = 1_000;
const PAGE = 500;
/** Maximum number of states kept during an outage of Postgres. The states of further keys are dropped and counted. */
const MAX_PENDING_STATES = 50_000;

/**
 * Writes the states of rules in the background: each key at most once a second, with its newest value. The console may
 * lag by a second; evaluation never waits.
 */
export class StateRecorder {
  readonly #states: Pick<StatesRepository, 'save'>;
  readonly #drops: Pick<EvaluatorDropMetrics, 'dropped'>;
  readonly #logger: Platform['logger'];
  readonly #maxPending: number;
  /** Keyed by tenant and agent, then by rule. */
  #pending = new Map<string, Map<string, RuleStateRow>>();
  #size = 0;
  /** The last agent looked up, because an agent's states arrive in sequence. */
  #last:
    | { readonly tenantId: string; readonly agentId: string; readonly states: Map<string, RuleStateRow> }
    | undefined;
  #timer: NodeJS.Timeout | undefined;
  #flushing: Promise<void> | undefined;

  constructor(
    states: Pick<StatesRepository, 'save'>,
    drops: Pick<EvaluatorDropMetrics, 'dropped'>,
    logger: Platform['logger'],
    maxPending = MAX_PENDING_STATES,
    readonly progress = new LoopProgress(),
  ) {
    this.#states = states;
    this.#drops = drops;
    this.#logger = logger;
    this.#maxPending = maxPending;
    observeQueue({ name: 'rule_states', capacity: maxPending, size: () => this.#size });
  }

  start(flushMs = FLUSH_MS): void {
    this.#timer = setInterval(() => void this.flush(), flushMs).unref();
  }

  record(state: RuleStateRow): void {
    const states = this.#statesOf(state);
    const pending = states.get(state.ruleId);
    if (pending === undefined && this.#size >= this.#maxPending) {
      this.#drops.dropped('rule_state', 1);
      return;
    }
    if (pending === undefined) this.#size += 1;
    if (states.size === 0) this.#pending.set(agentKey(state), states);
    if (pending === undefined || pending.lastEvaluatedAt <= state.lastEvaluatedAt) states.set(state.ruleId, state);
  }

  /** Writes pending states; joins a flush in progress. Never rejects. */
  flush(): Promise<void> {
    this.#flushing ??= this.#write().finally(() => {
      this.#flushing = undefined;
    });
    return this.#flushing;
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#flushing;
    await this.flush();
    this.#drops.dropped('rule_state', this.#take().length);
  }

  async #write(): Promise<void> {
    const states = this.#take();
    for (let from = 0; from < states.length; from += PAGE) {
      const page = states.slice(from, from + PAGE);
      try {
        await this.progress.attempt(() => this.#save(page));
      } catch (error) {
        this.#logger.warn({ err: error, states: states.length - from }, 'writing rule states failed, will retry');
        this.#takeBack(states.slice(from));
        return;
      }
    }
  }

  /** A state that the database rejects is dropped, so that it does not hold up the others. */
  async #save(page: readonly RuleStateRow[]): Promise<void> {
    await inHalves(
      page,
      async (some) => {
        await this.#states.save(some);
        return some.map(() => undefined);
      },
      ({ tenantId, ruleId }, error) => {
        this.#drops.dropped('rule_state', 1);
        const reason = refusalText(error);
        this.#logger.error({ tenantId, ruleId, reason }, 'dropped a rule state that cannot be stored');
      },
    );
  }

  /** Puts states back for the next flush, unless a newer one exists. */
  #takeBack(states: readonly RuleStateRow[]): void {
    const newer = this.#take();
    for (const state of [...states, ...newer]) this.record(state);
  }

  #take(): RuleStateRow[] {
    const states = [...this.#pending.values()].flatMap((own) => [...own.values()]);
    this.#pending = new Map();
    this.#last = undefined;
    this.#size = 0;
    return states;
  }

  #statesOf({ tenantId, agentId }: RuleStateRow): Map<string, RuleStateRow> {
    if (this.#last?.agentId === agentId && this.#last.tenantId === tenantId) return this.#last.states;
    const states = this.#pending.get(agentKey({ tenantId, agentId })) ?? new Map<string, RuleStateRow>();
    this.#last = { tenantId, agentId, states };
    return states;
  }
}

/** Tenant names contain no slash. */
function agentKey({ tenantId, agentId }: Pick<RuleStateRow, 'tenantId' | 'agentId'>): string {
  return `${tenantId}/${agentId}`;
}

/** The value that a rule last measured for an agent. */
export interface RuleStateRow {
  readonly tenantId: string;
  readonly ruleId: string;
  readonly agentId: string;
  readonly lastEvaluatedAt: string;
  readonly currentValue: number | null;
  readonly degradedReason: string | null;
}

/**
 * The table `guardrail_states`. The newest evaluation wins; for equal times, the greater value. Writers may therefore
 * write in any order and more than once.
 */
export class StatesRepository {
  readonly #pool: Database['pool'];

  constructor({ pool }: Pick<Database, 'pool'>) {
    this.#pool = pool;
  }

  /** @param states at most one state per tenant, rule and agent */
  async save(states: readonly RuleStateRow[]): Promise<void> {
    await this.#pool.query({
      name: 'save-guardrail-states',
      text: `
        insert into guardrail_states as kept
          (tenant_id, rule_id, agent_id, last_evaluated_at, current_value, degraded_reason)
        select "tenantId", "ruleId", "agentId", "lastEvaluatedAt", "currentValue", "degradedReason"
        from jsonb_to_recordset($1::jsonb) as state ("tenantId" text, "ruleId" text, "agentId" text,
          "lastEvaluatedAt" timestamptz, "currentValue" double precision, "degradedReason" text)
        order by 1, 2, 3
        on conflict (tenant_id, rule_id, agent_id) do update set
          last_evaluated_at = excluded.last_evaluated_at,
          current_value = excluded.current_value,
          degraded_reason = excluded.degraded_reason
        where (excluded.last_evaluated_at, coalesce(excluded.current_value, '-infinity'))
          > (kept.last_evaluated_at, coalesce(kept.current_value, '-infinity'))`,
      values: [JSON.stringify(states)],
    });
  }
}
