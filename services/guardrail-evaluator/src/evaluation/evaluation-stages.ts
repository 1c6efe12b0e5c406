import { type EventBatch, guardrailTriggered, type Trigger } from '@agentlens/contracts';
import {
  type AdvanceAnswer,
  type CooldownStore,
  claimOf,
  type EvaluationPlan,
  type EventRule,
  type Folding,
  fold as folded,
  planBatch,
  type RuleBook,
  type Series,
  type StopCounts,
  type WindowStore,
} from '@agentlens/guardrails';
import type { EventBus } from '@agentlens/messaging';
import { type Clock, type PipelineStage, runStages } from '@agentlens/platform';
import type { EvaluatorDropMetrics, EvaluatorMetrics } from '../evaluator-metrics.ts';
import type { StateRecorder } from '../states/state-recorder.ts';
import type { WindowGap } from './window-recovery.ts';

/** What the stages of an evaluation depend on. Each stage names the ports that it uses. */
export interface EvaluationPorts {
  readonly rules: { readonly book: RuleBook };
  readonly windows: WindowStore;
  readonly publisher: TriggerPublisher;
  readonly states: Pick<StateRecorder, 'record'>;
  readonly metrics: EvaluatorMetrics;
  readonly drops: Pick<EvaluatorDropMetrics, 'dropped'>;
  readonly clock: Clock;
  readonly windowGap?: Pick<WindowGap, 'open' | 'reason'>;
}

/** Batches that are evaluated together. */
export interface Round {
  readonly batches: readonly EventBatch[];
  /** The slices of each batch, each as a promise of its number of late values. */
  readonly concluded: (readonly Promise<number>[])[];
  readonly slices: AgentSlice[];
}

/** The events of one agent in one batch of a round. */
export interface AgentSlice {
  readonly plan: EvaluationPlan;
  readonly concluded: PromiseWithResolvers<number>;
  answer?: AdvanceAnswer | undefined;
  folding?: Folding;
  admitted: readonly Trigger[];
}

/** Slices of one tenant that are counted in one call to the store. */
interface Step {
  readonly slices: readonly AgentSlice[];
}

/** Maximum number of slices in one step. The store handles nothing else during a step. */
const MAX_STEP_SLICES = 32;

/** Splits each batch by agent and finds the rules and counters of each slice. */
export function plan({ rules }: Pick<EvaluationPorts, 'rules'>): PipelineStage<Round> {
  const slicesOf = (batch: EventBatch) =>
    planBatch(rules.book, batch).map(
      (one): AgentSlice => ({ plan: one, concluded: Promise.withResolvers(), admitted: [] }),
    );
  return {
    run({ batches, slices, concluded }) {
      for (const batch of batches) {
        try {
          const own = slicesOf(batch);
          slices.push(...own);
          concluded.push(own.map((slice) => slice.concluded.promise));
        } catch (error) {
          // An error in one batch must not affect the others.
          concluded.push([Promise.reject(error)]);
        }
      }
      return undefined;
    },
  };
}

/** Groups a list by tenant, in order, into steps of at most `MAX_STEP_SLICES` items. */
export function stepsOf<T>(list: readonly T[], tenantOf: (one: T) => string): T[][] {
  return [...Map.groupBy(list, tenantOf).values()].flatMap((own) =>
    Array.from({ length: Math.ceil(own.length / MAX_STEP_SLICES) }, (_, step) =>
      own.slice(step * MAX_STEP_SLICES, (step + 1) * MAX_STEP_SLICES),
    ),
  );
}

/** Runs stages on each step of a round. All steps start at once, in order. */
export function inSteps(stages: readonly PipelineStage<Step>[]): PipelineStage<Round> {
  const count = async (slices: readonly AgentSlice[]) => {
    try {
      await runStages(stages, { slices });
    } catch (error) {
      for (const { concluded } of slices) concluded.reject(error);
    }
  };
  return {
    async run({ slices }): Promise<undefined> {
      await Promise.all(stepsOf(slices, ({ plan: { request } }) => request.tenantId).map(count));
    },
  };
}

/** Counts the events of all slices in one call to the window store. */
export function advance({ windows }: Pick<EvaluationPorts, 'windows'>): PipelineStage<Step> {
  return {
    async run({ slices }): Promise<undefined> {
      const answers = await windows.advanceAll(slices.map(({ plan: { request } }) => request));
      for (const [at, slice] of slices.entries()) slice.answer = answers[at];
    },
  };
}

/** Runs stages on each slice. Triggers of one slice are published while the next slice is measured. */
export function forEachSlice(stages: readonly PipelineStage<AgentSlice>[]): PipelineStage<Step> {
  return {
    run({ slices }) {
      for (const slice of slices) {
        // An error in one slice must not affect the others.
        runStages(stages, slice)
          .then(() => slice.concluded.resolve(foldingOf(slice).late))
          .catch(slice.concluded.reject);
      }
      return undefined;
    },
  };
}

function foldingOf({ folding }: AgentSlice): Folding {
  if (folding === undefined) throw new Error('the slice was not folded');
  return folding;
}

/** Measures the rules and finds the triggers that are candidates. */
export const fold: PipelineStage<AgentSlice> = {
  run(slice) {
    if (slice.answer === undefined) throw new Error('the window store did not answer for every batch');
    slice.folding = folded(slice.plan, slice.answer);
    return undefined;
  },
};

/**
 * Records what the rules measured. Precedes publishing: lost windows may become complete while a trigger is being
 * published, but this was measured before.
 */
export function record(ports: Pick<EvaluationPorts, 'states' | 'metrics' | 'windowGap'>): PipelineStage<AgentSlice> {
  const { states, metrics, windowGap: gap } = ports;
  const textOf = timeFormat();
  return {
    run(slice) {
      const { readings, degraded } = foldingOf(slice);
      const { tenantId, agentId, nowMs } = slice.plan.request;
      const key = { tenantId, agentId, lastEvaluatedAt: textOf(nowMs) };
      for (const { rule, value } of readings) {
        if (degraded.length > 0 && degraded.some((one) => one.rule === rule)) continue;
        const degradedReason = gap?.open ? gap.reason(seriesOf(slice.plan, rule), nowMs) : null;
        states.record({ ...key, ruleId: rule.id, currentValue: value, degradedReason });
      }
      for (const { rule, reason } of degraded) {
        states.record({ ...key, ruleId: rule.id, currentValue: null, degradedReason: reason.slice(0, 500) });
        metrics.degraded(rule.conditionType);
      }
      return undefined;
    },
  };
}

/** Formats times. The slices of a batch have the same time, so the last result is cached. */
function timeFormat(): (ms: number) => string {
  let last = { ms: Number.NaN, text: '' };
  return (ms) => {
    if (ms !== last.ms) last = { ms, text: new Date(ms).toISOString() };
    return last.text;
  };
}

/** The series of a plan that a rule reads. */
function seriesOf({ measurements, request }: EvaluationPlan, rule: EventRule): readonly Series[] {
  const read = measurements.find((one) => one.rule === rule && one.series !== null)?.series ?? [];
  return read.flatMap((index) => request.series[index] ?? []);
}

/** Claims the cooldowns of the candidates. */
export function claim({ publisher }: Pick<EvaluationPorts, 'publisher'>): PipelineStage<AgentSlice> {
  const claimed = async (slice: AgentSlice, candidates: Folding['candidates']): Promise<undefined> => {
    slice.admitted = await publisher.claim(candidates.map(({ trigger }) => trigger));
  };
  return {
    run(slice) {
      const { candidates } = foldingOf(slice);
      return candidates.length === 0 ? undefined : claimed(slice, candidates);
    },
  };
}

/** Publishes the triggers that got their cooldown. */
export function publish({
  publisher,
  metrics,
}: Pick<EvaluationPorts, 'publisher' | 'metrics'>): PipelineStage<AgentSlice> {
  const published = async ({ admitted }: AgentSlice, { candidates, stops }: Folding): Promise<undefined> => {
    await publisher.publish(admitted);
    const refused = candidates.length - admitted.length;
    metrics.stopped(refused === 0 ? stops : { ...stops, claim_refused: refused });
  };
  return {
    run(slice) {
      const folding = foldingOf(slice);
      return folding.candidates.length === 0 ? undefined : published(slice, folding);
    },
  };
}

/** Counts why rules did not trigger, over the slices of a step that have no candidates. */
export function countStops({ metrics }: Pick<EvaluationPorts, 'metrics'>): PipelineStage<Step> {
  return {
    run({ slices }) {
      const sum: StopCounts = {};
      for (const { folding } of slices) {
        if (folding === undefined || folding.candidates.length > 0) continue;
        for (const [reason, times] of Object.entries(folding.stops) as [keyof StopCounts, number][]) {
          sum[reason] = (sum[reason] ?? 0) + times;
        }
      }
      metrics.stopped(sum);
      return undefined;
    },
  };
}

/** Claims cooldowns of triggers and publishes them. Safe to repeat, because ids and claims stay the same. */
export class TriggerPublisher {
  readonly #cooldowns: Pick<CooldownStore, 'claim'>;
  readonly #bus: EventBus;
  readonly #metrics: EvaluatorMetrics;

  constructor(cooldowns: Pick<CooldownStore, 'claim'>, bus: EventBus, metrics: EvaluatorMetrics) {
    this.#cooldowns = cooldowns;
    this.#bus = bus;
    this.#metrics = metrics;
  }

  /** Publishes the candidates that get their cooldown. @throws StateUnavailable, BusUnavailable if it has to be repeated */
  async admit(candidates: readonly Trigger[]): Promise<void> {
    await this.publish(await this.claim(candidates));
  }

  /** Claims cooldowns in order. Returns the triggers that got theirs. @throws StateUnavailable */
  async claim(candidates: readonly Trigger[]): Promise<readonly Trigger[]> {
    const admitted: Trigger[] = [];
    for (const trigger of candidates) if (await this.#claimed(trigger)) admitted.push(trigger);
    return admitted;
  }

  /** @throws BusUnavailable if a trigger was not published */
  async publish(admitted: readonly Trigger[]): Promise<void> {
    await Promise.all(admitted.map((trigger) => this.#publish(trigger)));
  }

  #claimed(trigger: Trigger): Promise<boolean> | boolean {
    const claim = claimOf(trigger);
    return claim === null || this.#cooldowns.claim(claim);
  }

  async #publish(trigger: Trigger): Promise<void> {
    const { duplicate } = await this.#bus.publish(guardrailTriggered, trigger);
    if (!duplicate) this.#metrics.triggered(trigger.conditionType, trigger.dryRun);
  }
}
