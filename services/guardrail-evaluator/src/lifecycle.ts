import type { Platform } from '@agentlens/platform';

const RETRY_MS = 1_000;

/** A part of the service that works in the background. */
export interface Part {
  start?(): Promise<void> | void;
  stop?(): Promise<void> | void;
}

interface Stages {
  /** Need nothing but the process. */
  readonly writers: readonly Part[];
  /** Read rules and settings. A failed start is repeated, so it must be possible to call it again. */
  readonly readers: readonly Part[];
  /** Start when everything is read. */
  readonly workers: readonly Part[];
}

/**
 * Starts the parts of the evaluator in order, and stops them in the opposite order, so that a part can still hand its
 * work to those before it. Nothing may be decided or consumed without rules and settings: while they cannot be read,
 * starting goes on in the background.
 */
export class EvaluatorLifecycle {
  readonly #stages: Stages;
  readonly #logger: Platform['logger'];
  readonly #loaded = Promise.withResolvers<void>();
  readonly #recovered = Promise.withResolvers<void>();
  #retry: NodeJS.Timeout | undefined;
  #starting: Promise<void> | undefined;
  #stopped = false;

  constructor(stages: Stages, logger: Platform['logger']) {
    this.#stages = stages;
    this.#logger = logger;
  }

  /** Resolves when rules and settings are loaded. Without all of them a decision would be wrong. */
  get loaded(): Promise<void> {
    return this.#loaded.promise;
  }

  /** Resolves when events may be evaluated: rules are loaded and lost windows are being rebuilt. */
  get recovered(): Promise<void> {
    return this.#recovered.promise;
  }

  async start(): Promise<void> {
    await startAll(this.#stages.writers);
    await this.#read();
  }

  /** Finishes work in progress and writes what is pending. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#retry);
    await this.#starting;
    const { writers, readers, workers } = this.#stages;
    for (const part of [...writers, ...readers, ...workers].reverse()) await part.stop?.();
  }

  async #read(): Promise<void> {
    const { readers, workers } = this.#stages;
    try {
      await startAll(readers);
    } catch (error) {
      this.#logger.warn({ err: error }, 'loading rules failed, will retry');
      if (this.#stopped) return;
      this.#retry = setTimeout(() => {
        this.#starting = this.#read();
      }, RETRY_MS);
      return;
    }
    this.#loaded.resolve();
    await startAll(workers);
    this.#recovered.resolve();
  }
}

async function startAll(parts: readonly Part[]): Promise<void> {
  for (const part of parts) await part.start?.();
}
