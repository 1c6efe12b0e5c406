import { type Decision, type DecisionRequest, decisionDecided } from '@agentlens/contracts';
import { redactDeep } from '@agentlens/guardrails/redact';
import { BusUnavailable, type EventBus, Fifo, observeQueue, within } from '@agentlens/messaging';
import { LoopProgress } from '../health/loop-progress.ts';
import type { Platform } from '../platform.ts';
import type { DecisionMetrics } from './decision-metrics.ts';

/**
 * Maximum length of the JSON text of arguments. Larger arguments are in the events of the run, and sealed with
 * approvals.
 */
const MAX_CHARS = 8_192;
const START_CHARS = 2_000;

type KeptCall = Pick<Decision, 'arguments' | 'argumentsCut' | 'toolTags'>;

/**
 * What is stored of a call with its decision: the tags of its tool, and its arguments, redacted, or none if the tenant
 * does not store arguments.
 */
export function keptCall(request: Pick<DecisionRequest, 'args' | 'keepsArguments' | 'tool'>): KeptCall {
  const { tool } = request;
  return { ...(tool === undefined ? {} : { toolTags: tool.tags }), ...keptArguments(request) };
}

function keptArguments({ args, keepsArguments }: Pick<DecisionRequest, 'args' | 'keepsArguments'>): KeptCall {
  if (keepsArguments !== true || args === undefined) return {};
  const redacted = redactDeep(args);
  const text = JSON.stringify(redacted);
  if (text.length <= MAX_CHARS) return { arguments: redacted };
  return { argumentsCut: { start: text.slice(0, START_CHARS).toWellFormed(), bytes: Buffer.byteLength(text) } };
}

/** Maximum queue length during an outage of the broker. Beyond it, the oldest decisions are dropped and counted. */
const MAX_WAITING_DECISIONS = 10_000;
const AT_ONCE = 32;
/** Decisions made within this time are published together, which saves writes and reads. */
const GATHER_MS = 20;
const RETRY_MS = 250;
/** Time to publish the queue when the service stops. */
const DRAIN_MS = 5_000;

export interface PublisherLimits {
  readonly maxWaiting?: number;
  readonly gatherMs?: number;
  readonly retryMs?: number;
  readonly drainMs?: number;
  readonly progress?: LoopProgress;
}

/**
 * Publishes decisions in groups after they were answered, so that no agent waits for it. A crash loses the queue: an
 * answer that was given may then be missing from the record.
 */
export class DecisionPublisher {
  readonly #bus: Pick<EventBus, 'publish'>;
  readonly #metrics: Pick<DecisionMetrics, 'dropped'>;
  readonly #logger: Platform['logger'];
  readonly #limits: Required<PublisherLimits>;
  readonly #waiting = new Fifo<Decision>();
  readonly #idle: (() => void)[] = [];
  #sending = 0;
  #gathering: NodeJS.Timeout | undefined;
  #resting: NodeJS.Timeout | undefined;
  #stopped = false;

  /** @param queue name of the queue in metrics */
  constructor(
    bus: Pick<EventBus, 'publish'>,
    metrics: Pick<DecisionMetrics, 'dropped'>,
    logger: Platform['logger'],
    limits: PublisherLimits = {},
    queue = 'decisions',
  ) {
    this.#bus = bus;
    this.#metrics = metrics;
    this.#logger = logger;
    const usual = { maxWaiting: MAX_WAITING_DECISIONS, gatherMs: GATHER_MS, retryMs: RETRY_MS, drainMs: DRAIN_MS };
    this.#limits = { ...usual, progress: new LoopProgress(), ...limits };
    const capacity = this.#limits.maxWaiting;
    observeQueue({ name: queue, capacity, size: () => this.#waiting.length });
  }

  offer(decision: Decision): void {
    const { modifiedArgs: _, ...kept } = decision;
    this.#waiting.push(kept);
    if (this.#waiting.length > this.#limits.maxWaiting) {
      this.#waiting.shift();
      this.#metrics.dropped();
    }
    this.#next();
  }

  /** Publishes the queue, and counts what could not be published in time as dropped. */
  async drain(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#resting);
    this.#resting = undefined;
    const sent = new Promise<void>((resolve) => this.#idle.push(resolve));
    this.#send();
    await within(this.#limits.drainMs, sent);
    clearTimeout(this.#resting);
    const lost = this.#waiting.take(Number.POSITIVE_INFINITY).length + this.#sending;
    if (lost === 0) return;
    this.#metrics.dropped(lost);
    this.#logger.warn({ decisions: lost }, 'dropped unpublished decisions at shutdown');
  }

  /** Sends at once if the group is large enough or the service is stopping; otherwise waits for more. */
  #next(): void {
    if (this.#stopped || this.#waiting.length >= AT_ONCE) this.#send();
    else if (this.#waiting.length > 0)
      this.#gathering ??= setTimeout(() => this.#send(), this.#limits.gatherMs).unref();
  }

  #send(): void {
    clearTimeout(this.#gathering);
    this.#gathering = undefined;
    while (this.#resting === undefined && this.#sending < AT_ONCE) {
      const decision = this.#waiting.shift();
      if (decision === undefined) break;
      this.#sending += 1;
      void this.#publish(decision);
    }
    if (this.#waiting.length === 0 && this.#sending === 0) for (const resolve of this.#idle.splice(0)) resolve();
  }

  async #publish(decision: Decision): Promise<void> {
    try {
      await this.#limits.progress.attempt(() => this.#bus.publish(decisionDecided, decision));
    } catch (error) {
      if (error instanceof BusUnavailable) {
        this.#waiting.unshift(decision);
        this.#rest(error);
      } else this.#drop(decision, error);
    }
    this.#sending -= 1;
    this.#next();
  }

  /** A decision that the bus refuses, for example because it is too large, would hold up all later ones. */
  #drop({ id, tenantId }: Decision, err: unknown): void {
    this.#limits.progress.succeeded();
    this.#metrics.dropped();
    this.#logger.error({ err, decisionId: id, tenantId }, 'dropped a decision that cannot be published');
  }

  #rest(error: unknown): void {
    if (this.#resting !== undefined) return;
    if (!this.#stopped) this.#logger.warn({ err: error }, 'publishing decisions failed, will retry');
    this.#resting = setTimeout(() => {
      this.#resting = undefined;
      this.#send();
    }, this.#limits.retryMs).unref();
  }
}
