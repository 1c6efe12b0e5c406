import type { RuntimeClock } from './runtime/runtime.ts';
import { backoffMs } from './sink/backoff.ts';
import { BYPASSES } from './wire/failures.ts';
import type { Asked, NotAnswered } from './wire/server.ts';

export interface RegistrationDependencies {
  readonly clock: RuntimeClock;
  readonly random: () => number;
  readonly register: () => Promise<Asked<string>>;
  readonly registered: (agentId: string) => void;
  readonly warn: (message: string) => void;
}

const UNREGISTERED: NotAnswered = { ok: false, why: 'unregistered' };
const BACKOFF_BASE_MS = 1_000;
const MAX_BACKOFF_MS = 60_000;

/**
 * Registers the agent and keeps retrying: without its id no decision can be requested and no event sent. Callers that
 * need the id wait for the current attempt, never for a later one.
 */
export class RegistrationAttempts {
  readonly #tools: RegistrationDependencies;
  #agentId: string | undefined;
  #attempt: Promise<void> | undefined;
  #failures = 0;
  #refused: NotAnswered | undefined;
  #cancel: (() => void) | undefined;
  #closed = false;

  constructor(tools: RegistrationDependencies) {
    this.#tools = tools;
  }

  get agentId(): string | undefined {
    return this.#agentId;
  }

  /** Why there is no id. */
  get failure(): NotAnswered {
    return this.#refused ?? UNREGISTERED;
  }

  /** Waits for the current attempt or starts one; undefined if it fails. */
  async wait(): Promise<string | undefined> {
    if (this.#agentId !== undefined || this.#closed) return this.#agentId;
    this.#attempt ??= this.#try().finally(() => {
      this.#attempt = undefined;
    });
    await this.#attempt;
    return this.#agentId;
  }

  close(): void {
    this.#closed = true;
    this.#cancel?.();
  }

  async #try(): Promise<void> {
    const asked = await this.#tools.register();
    if (asked.ok) {
      this.#agentId = asked.value;
      this.#tools.registered(asked.value);
      return;
    }
    this.#refused = asked.why === 'key_refused' ? asked : undefined;
    if (this.#failures++ === 0)
      this.#tools.warn(`agent registration failed, will retry: ${BYPASSES[asked.why].happened}`);
    this.#cancel?.();
    // Waiting does not fix a rejected key. It is retried when a run or a call needs the id.
    if (this.#closed || this.#refused !== undefined) return;
    const ms = backoffMs(this.#failures, this.#tools.random, BACKOFF_BASE_MS, MAX_BACKOFF_MS);
    this.#cancel = this.#tools.clock.timer(() => void this.wait(), ms);
  }
}
