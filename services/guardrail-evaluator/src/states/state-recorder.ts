import type { Platform } from '@agentlens/platform';
import type { DropMetrics } from '../drop-metrics.ts';
import type { RuleState, StatesRepository } from './states.repository.ts';

const FLUSH_MS = 1_000;
const PAGE = 500;
/** What a Postgres outage may pile up; the states of further keys are dropped and counted. */
const MOST_PENDING = 50_000;

/**
 * Writes the states of rules beside evaluation: each key at most once a second, always with its newest value. Screens
 * may lag a second; evaluation never waits.
 */
export class StateRecorder {
  readonly #states: Pick<StatesRepository, 'save'>;
  readonly #drops: Pick<DropMetrics, 'dropped'>;
  readonly #logger: Platform['logger'];
  readonly #mostPending: number;
  #pending = new Map<string, RuleState>();
  #timer: NodeJS.Timeout | undefined;
  #flushing: Promise<void> | undefined;

  constructor(
    states: Pick<StatesRepository, 'save'>,
    drops: Pick<DropMetrics, 'dropped'>,
    logger: Platform['logger'],
    mostPending = MOST_PENDING,
  ) {
    this.#states = states;
    this.#drops = drops;
    this.#logger = logger;
    this.#mostPending = mostPending;
  }

  start(flushMs = FLUSH_MS): void {
    this.#timer = setInterval(() => void this.flush(), flushMs).unref();
  }

  record(state: RuleState): void {
    // Only an agent's name may hold a slash, and it is last.
    const key = `${state.tenantId}/${state.ruleId}/${state.agentId}`;
    const pending = this.#pending.get(key);
    if (pending === undefined && this.#pending.size >= this.#mostPending) {
      this.#drops.dropped('rule_state', 1);
      return;
    }
    if (pending === undefined || pending.lastEvaluatedAt <= state.lastEvaluatedAt) this.#pending.set(key, state);
  }

  /** Writes what is pending; joins a flush that is under way. Never rejects. */
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
    this.#drops.dropped('rule_state', this.#pending.size);
    this.#pending.clear();
  }

  async #write(): Promise<void> {
    const states = [...this.#pending.values()];
    this.#pending = new Map();
    for (let from = 0; from < states.length; from += PAGE) {
      const page = states.slice(from, from + PAGE);
      try {
        await this.#states.save(page);
      } catch (error) {
        this.#logger.warn({ err: error, states: states.length - from }, 'rule states could not be written');
        this.#takeBack(states.slice(from));
        return;
      }
    }
  }

  /** For the next flush, unless something newer has come. */
  #takeBack(states: readonly RuleState[]): void {
    const newer = this.#pending;
    this.#pending = new Map();
    for (const state of [...states, ...newer.values()]) this.record(state);
  }
}
