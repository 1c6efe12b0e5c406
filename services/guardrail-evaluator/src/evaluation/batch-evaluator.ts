import type { EventBatch } from '@agentlens/contracts';
import {
  type Folding,
  fold,
  type Indexed,
  type Plan,
  planAgent,
  type RuleBook,
  type WindowStore,
} from '@agentlens/guardrails';
import type { Clock } from '@agentlens/platform';
import type { StateRecorder } from '../states/state-recorder.ts';
import type { EvaluatorMetrics } from './evaluator-metrics.ts';
import { Lanes } from './lanes.ts';
import type { TriggerDesk } from './trigger-desk.ts';

export interface BatchEvaluatorParts {
  readonly rules: { readonly book: RuleBook };
  readonly windows: WindowStore;
  readonly desk: TriggerDesk;
  readonly states: Pick<StateRecorder, 'record'>;
  readonly metrics: EvaluatorMetrics;
  readonly clock: Clock;
}

/**
 * Evaluates a batch of events against the rules in force. Every step may be repeated after a crash at any point: the
 * window store answers a batch it has seen as before, from which follow the same triggers, which hold their own
 * cooldowns and are published under the same ids.
 */
export class BatchEvaluator {
  readonly #parts: BatchEvaluatorParts;
  readonly #lanes = new Lanes();

  constructor(parts: BatchEvaluatorParts) {
    this.#parts = parts;
  }

  /**
   * Batches given one after the other are evaluated in that order for each agent, and agents side by side.
   * @throws StateUnavailable, BusUnavailable: the batch is to be evaluated again
   */
  async evaluate(batch: EventBatch): Promise<void> {
    const plans = planBatch(this.#parts.rules.book, batch);
    if (plans.length === 0) return;
    const agents = plans.map((plan) =>
      this.#lanes.run(`${batch.tenantId} ${plan.request.agentId}`, () => this.#agent(plan)),
    );
    // All of them are waited for, so that nothing of a failed batch is still going on when it is asked for again.
    const results = await Promise.allSettled(agents);
    const failure = results.find((result) => result.status === 'rejected');
    if (failure !== undefined) throw failure.reason;
    this.#parts.metrics.evaluated(this.#parts.clock.now() - Date.parse(batch.receivedAt));
  }

  async #agent(plan: Plan): Promise<void> {
    const { windows, desk, metrics } = this.#parts;
    const folding = fold(plan, await windows.advance(plan.request));
    const { refused } = await desk.admit(folding.candidates.map(({ trigger }) => trigger));
    metrics.stopped(refused === 0 ? folding.stops : { ...folding.stops, claim_refused: refused });
    this.#record(plan, folding);
  }

  #record({ request: { tenantId, agentId, nowMs } }: Plan, { readings, degraded }: Folding): void {
    const lastEvaluatedAt = new Date(nowMs).toISOString();
    const key = { tenantId, agentId, lastEvaluatedAt };
    const failed = new Set(degraded.map(({ rule }) => rule.id));
    for (const { rule, value } of readings) {
      if (failed.has(rule.id)) continue;
      this.#parts.states.record({ ...key, ruleId: rule.id, currentValue: value, degradedReason: null });
    }
    for (const { rule, reason } of degraded) {
      this.#parts.states.record({ ...key, ruleId: rule.id, currentValue: null, degradedReason: reason.slice(0, 500) });
      this.#parts.metrics.degraded(rule.conditionType);
    }
  }
}

/** The plans of the agents in a batch that any rule listens to. */
function planBatch(book: RuleBook, batch: EventBatch): Plan[] {
  const byAgent = new Map<string, Indexed[]>();
  batch.events.forEach((event, index) => {
    const events = byAgent.get(event.agentId);
    if (events === undefined) byAgent.set(event.agentId, [[index, event]]);
    else events.push([index, event]);
  });
  return [...byAgent].flatMap(([agentId, events]) => planAgent(book, batch, agentId, events) ?? []);
}
