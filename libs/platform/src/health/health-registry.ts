import { withDeadline } from '../with-deadline.ts';

export interface HealthAnswer {
  readonly ok: boolean;
  /** Shown on `/readyz`: ages, counts; never secrets. */
  readonly detail?: object;
}

type HealthCheck = () => Promise<HealthAnswer>;

interface HealthReport {
  readonly ready: boolean;
  readonly checks: Readonly<Record<string, HealthAnswer>>;
}

/** A check that does not answer within this time has failed. */
const CHECK_DEADLINE_MS = 2_000;

/**
 * What readiness is made of: each part of the process adds a check of its *progress* (age of the oldest
 * unacknowledged message), not of its connections alone.
 */
export class HealthRegistry {
  readonly #checks = new Map<string, HealthCheck>();
  readonly #drainListeners: (() => void)[] = [];
  #draining = false;

  /** A second check under one name gets a number, so that five services in one process do not hide each other. */
  add(name: string, check: HealthCheck): void {
    let unique = name;
    for (let n = 2; this.#checks.has(unique); n++) unique = `${name}-${n}`;
    this.#checks.set(unique, check);
  }

  /** From now on not ready: the process is going away and wants no new work. */
  drain(): void {
    if (this.#draining) return;
    this.#draining = true;
    for (const listener of this.#drainListeners) listener();
  }

  /** Called once when the process begins to drain: end what would never end by itself. */
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
