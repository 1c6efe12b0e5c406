import { metrics } from '@opentelemetry/api';
import { withDeadline } from '../with-deadline.ts';
import { LoopProgress } from './loop-progress.ts';

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
  readonly #loops = new Map<string, LoopProgress>();
  readonly #drainListeners: (() => void)[] = [];
  #draining = false;

  constructor() {
    const idle = metrics.getMeter('@agentlens/platform').createObservableGauge('agentlens.loop.idle', {
      description: 'How long a background loop that has work has got none of it done',
      unit: 'ms',
    });
    idle.addCallback((result) => {
      for (const [loop, progress] of this.#loops) result.observe(progress.idleMs, { loop });
    });
  }

  /** A second check with the same name gets a number, because several services can share one process. */
  add(name: string, check: HealthCheck): void {
    this.#checks.set(uniqueName(name, this.#checks), check);
  }

  /** Watches a background loop: while it is stalled, the process is not ready, and a gauge says for how long. */
  watchLoop(name: string, progress = new LoopProgress()): LoopProgress {
    if (this.#loops.size === 0) this.add('loops', async () => this.#loopHealth());
    this.#loops.set(uniqueName(name, this.#loops), progress);
    return progress;
  }

  #loopHealth(): HealthAnswer {
    const stalled = [...this.#loops].filter(([, progress]) => progress.isStalled);
    if (stalled.length === 0) return { ok: true };
    return { ok: false, detail: Object.fromEntries(stalled.map(([name, { idleMs }]) => [name, { idleMs }])) };
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

function uniqueName(name: string, known: ReadonlyMap<string, unknown>): string {
  let unique = name;
  for (let n = 2; known.has(unique); n++) unique = `${name}-${n}`;
  return unique;
}

async function answerOf(check: HealthCheck): Promise<HealthAnswer> {
  try {
    return await withDeadline(check(), CHECK_DEADLINE_MS);
  } catch (error) {
    return { ok: false, detail: { reason: error instanceof Error ? error.message : String(error) } };
  }
}
