import type { ModelRefusal } from '@agentlens/model-api';
import type { AdmittedCall } from './admission.ts';
import type { CallEstimate } from './estimate.ts';

/** The part of a step that streams while the next one is asked for. */
const ASKED_AT = 0.2;
/** A count is no proof that a provider ignores the limit of the client, unless it is far beyond it. */
const BEYOND = { factor: 2, tokens: 1_000 };

/**
 * Reserves for an answer while it streams: one step when the call begins, and the next when a fifth of the reserved
 * answer is left. Text goes on meanwhile. An answer that is faster than the question waits for it, so that a budget is
 * passed by no more than one chunk.
 */
export class GrowingReservation {
  readonly #admitted: Pick<AdmittedCall, 'grow' | 'renew'>;
  #estimate: CallEstimate;
  readonly #stop: (refusal: ModelRefusal) => void;
  readonly #ended = new AbortController();
  /** Resolves when the answer ends from here. */
  readonly #ending: Promise<void>;
  #reservedTokens: number;
  #asking: Promise<void> | undefined;

  /** @param ending aborted when the answer ends from here: nothing waits for a question then */
  constructor(
    admitted: Pick<AdmittedCall, 'estimate' | 'grow' | 'renew'>,
    ending: AbortSignal,
    stop: (refusal: ModelRefusal) => void,
  ) {
    this.#admitted = admitted;
    this.#stop = stop;
    this.#estimate = admitted.estimate;
    this.#reservedTokens = admitted.estimate.stepTokens;
    this.#ending = new Promise((resolve) => {
      const end = () => resolve(this.#ended.abort());
      if (ending.aborted) end();
      else ending.addEventListener('abort', end, { once: true });
    });
  }

  /** Another connection answers, whose prices were reserved. */
  repriced(estimate: CallEstimate): void {
    this.#estimate = estimate;
    this.#reservedTokens = estimate.stepTokens;
  }

  /** Keeps the reservation of an answer that takes longer than reservations are held. */
  renew(): void {
    if (this.#ended.signal.aborted || this.#asking !== undefined) return;
    const { signal } = this.#ended;
    this.#asking = this.#admitted.renew(this.#estimate.usageAt(this.#reservedTokens), signal).then(() => {
      this.#asking = undefined;
    });
  }

  /** The answer has so many tokens by now. Returns what to wait for before more of it is passed on. */
  streamed(outputTokens: number): Promise<void> | undefined {
    this.#askIfDue(outputTokens);
    if (outputTokens <= this.#reservedTokens || this.#asking === undefined) return undefined;
    return Promise.race([this.#asking, this.#ending]);
  }

  #askIfDue(outputTokens: number): void {
    const { stepTokens } = this.#estimate;
    const maxTokens = this.#findMaximum(outputTokens);
    const isFull = this.#reservedTokens >= maxTokens || stepTokens === 0;
    if (this.#ended.signal.aborted || this.#asking !== undefined || isFull) return;
    if (outputTokens < this.#reservedTokens - ASKED_AT * stepTokens) return;
    // A chunk may hold more than a step.
    const steps = Math.max(1, Math.ceil((outputTokens - this.#reservedTokens) / stepTokens + ASKED_AT));
    const wanted = Math.min(maxTokens, this.#reservedTokens + steps * stepTokens);
    this.#asking = this.#grow(wanted, outputTokens);
  }

  #findMaximum(outputTokens: number): number {
    const { maxTokens = Number.POSITIVE_INFINITY } = this.#estimate;
    return outputTokens > BEYOND.factor * maxTokens + BEYOND.tokens ? Number.POSITIVE_INFINITY : maxTokens;
  }

  /** The answer ended. Waits for the last question, so that none arrives after the call was settled. */
  async end(): Promise<void> {
    this.#ended.abort();
    await this.#asking;
  }

  async #grow(wantedTokens: number, outputTokens: number): Promise<void> {
    const { grow } = this.#admitted;
    const estimate = this.#estimate;
    const { signal } = this.#ended;
    const used = estimate.usageAt(Math.min(outputTokens, this.#reservedTokens));
    const refusal = await grow(estimate.usageAt(wantedTokens), used, signal);
    this.#asking = undefined;
    this.#reservedTokens = wantedTokens;
    if (refusal === undefined) return;
    this.#ended.abort();
    this.#stop(refusal);
  }
}
