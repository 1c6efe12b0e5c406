import { withDeadline } from '../with-deadline.ts';

export interface HealthAnswer {
  readonly ok: boolean;
  /** Shown on `/readyz`: ages and counts, never secrets. */
  readonly detail?: object;
}

type HealthCheck = () => Promise<HealthAnswer>;

interface HealthReport {
  readonly ready: boolean;
  readonly checks: Readonly<Record<string, HealthAnswer>>;
}

/** Timeout of a check; a check that times out has failed. */
const CHECK_DEADLINE_MS = 2_000;

/**
 * Readiness checks. Each part of the process adds a check of its *progress*, such as the age of the oldest
 * unacknowledged message, not only of its connections.
 */
export class HealthRegistry {
  readonly #checks = new Map<string, HealthCheck>();
  readonly #drainListeners: (() => void)[] = [];
  #draining = false;

  /** A second check with the same name gets a number, because several services can share one process. */
  add(name: string, check: HealthCheck): void {
    let unique = name;
    for (let n = 2; this.#checks.has(unique); n++) unique = `${name}-${n}`;
    this.#checks.set(unique, check);
  }

  /** Reports not ready from now on, so that no new work arrives. */
  drain(): void {
    if (this.#draining) return;
    this.#draining = true;
    for (const listener of this.#drainListeners) listener();
  }

  /** Called once when the process starts to drain; end what would not end by itself. */
  onDrain(listener: () => void): void {
    this.#drainListeners.push(listener);
  }

  get draining(): boolean {
    return this.#draining;
  }

  async report(): Promise<HealthReport> {
    const names = [...this.#checks.keys()];
    const answers = await Promise.all([...this.#checks.values()].map(answerOf));
    const checks = Object.fromEntries(names.map((name, i) => [name, answers[i] ?? { ok: false }]));
    if (this.#draining) return { ready: false, checks: { ...checks, draining: { ok: false } } };
    return { ready: answers.every((answer) => answer.ok), checks };
  }
}

async function answerOf(check: HealthCheck): Promise<HealthAnswer> {
  try {
    return await withDeadline(check(), CHECK_DEADLINE_MS);
  } catch (error) {
    return { ok: false, detail: { reason: error instanceof Error ? error.message : String(error) } };
  }
}
