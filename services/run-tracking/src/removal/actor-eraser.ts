import { COMMANDS } from '@agentlens/contracts';
import type { Database } from '@agentlens/database';
import { type EventBus, Repeating, type Subscription } from '@agentlens/messaging';
import type { Platform } from '@agentlens/platform';
import type { z } from 'zod';
import { Erasures, type RunningErasure } from './erasures.repository.ts';

const LOOK_MS = 15_000;
/** Between two groups of runs, so that a long erasure does not keep the disk busy. */
const NEXT_GROUP_MS = 200;
const RUNS_PER_QUESTION = 500;

interface ActorEraserDependencies {
  readonly bus: EventBus;
  readonly database: Database;
  readonly logger: Platform['logger'];
}

/** Removes what the runs of an actor say, in the background: a group of runs at a time, the dispatcher's part first. */
export class ActorEraser {
  readonly #parts: ActorEraserDependencies;
  readonly #erasures: Erasures;
  readonly #turning = new Repeating(() => this.turn());
  #serving: Subscription | undefined;

  constructor(parts: ActorEraserDependencies) {
    this.#parts = parts;
    this.#erasures = new Erasures(parts.database);
  }

  async start(): Promise<void> {
    this.#serving = await this.#parts.bus.serve(COMMANDS.eraseActor, (question) => this.#begin(question));
    this.#turning.start(0);
  }

  async stop(): Promise<void> {
    await this.#serving?.close();
    await this.#turning.stop();
  }

  async #begin(
    question: z.infer<typeof COMMANDS.eraseActor.request>,
  ): Promise<z.infer<typeof COMMANDS.eraseActor.answer>> {
    const row = await this.#erasures.begin(question);
    return { ok: true, value: { id: row.erasure_id, requestedAt: row.requested_at } };
  }

  /** A group of runs of each erasure; answers when the next is due, ms. Never throws. Replicas may do the same at once. */
  async turn(): Promise<number> {
    try {
      const running = await this.#erasures.running();
      for (const erasure of running) await this.#eraseGroup(erasure);
      return running.length > 0 ? NEXT_GROUP_MS : LOOK_MS;
    } catch (err) {
      this.#parts.logger.warn({ err }, 'the contents of an actor could not be removed just now, trying again');
      return LOOK_MS;
    }
  }

  /** The runs name the actor until everything else of theirs is gone: what fails is begun again from there. */
  async #eraseGroup(erasure: RunningErasure): Promise<void> {
    const { tenantId } = erasure;
    const runIds = await this.#erasures.runsOf(erasure);
    if (runIds.length === 0) return this.#erasures.finish(erasure);
    for (let from = 0; from < runIds.length; from += RUNS_PER_QUESTION) {
      const some = runIds.slice(from, from + RUNS_PER_QUESTION);
      const answer = await this.#parts.bus.request(COMMANDS.eraseRunActions, { tenantId, runIds: some });
      if (!answer.ok) throw new Error(answer.problem.error);
    }
    while (await this.#erasures.eraseSome(erasure, runIds));
    await this.#erasures.forget(erasure, runIds);
  }
}
