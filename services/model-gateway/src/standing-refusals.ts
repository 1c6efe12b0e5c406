import type { Clock, Platform } from '@agentlens/platform';
import { BoundedMap, type IdempotencyStore, StateUnavailable } from '@agentlens/state';

const MAX_RUNS = 10_000;
/** How long a rule that ended an answer also ends the next calls of its run. */
const STOP_MS = 60_000;
/** How long the calls of a run need the room that its budget lacked. Clients give up repeating a call before. */
const LACK_MS = 10 * 60_000;

interface Stop {
  readonly message: string;
  readonly atMs: number;
}

interface Lack {
  readonly lackedUsd: number;
  readonly atMs: number;
}

interface StandingRefusalsDependencies {
  readonly memory: Pick<IdempotencyStore, 'remember' | 'find'>;
  readonly clock: Clock;
  readonly logger: Platform['logger'];
}

/**
 * Runs of which an answer was stopped. Clients send such a call again at once, often in another form. After a stop by a
 * budget, the next calls of the run need the room that was missing, because a smaller one would otherwise use up what is
 * left. After a stop by a rule they are refused for a minute. Orders and breakers stand by themselves. This instance
 * knows the latest stop of a run, others the first one of each period.
 */
export class StandingRefusals {
  readonly #parts: StandingRefusalsDependencies;
  readonly #stops: SharedNotes<Stop>;
  readonly #lacks: SharedNotes<Lack>;

  constructor(parts: StandingRefusalsDependencies) {
    this.#parts = parts;
    this.#stops = new SharedNotes(parts, 'stopped-run', STOP_MS);
    this.#lacks = new SharedNotes(parts, 'lacking-run', LACK_MS);
  }

  /** A budget had no room for the rest of an answer. Never rejects. */
  noteLack(tenantId: string, runId: string, lackedUsd: number): Promise<void> {
    return this.#lacks.note(tenantId, runId, { lackedUsd, atMs: this.#parts.clock.now() });
  }

  /** A rule ended an answer. Never rejects. */
  noteStop(tenantId: string, runId: string, message: string): Promise<void> {
    return this.#stops.note(tenantId, runId, { message, atMs: this.#parts.clock.now() });
  }

  /** What the next call of the run has to meet: the message of a rule that refuses it, and the room that it needs. */
  async find(tenantId: string, runId: string): Promise<{ readonly lackedUsd: number; readonly message?: string }> {
    const [[stop], lacks] = await Promise.all([this.#stops.find(tenantId, runId), this.#lacks.find(tenantId, runId)]);
    const lackedUsd = Math.max(0, ...lacks.map((one) => one.lackedUsd));
    return stop === undefined ? { lackedUsd } : { lackedUsd, message: stop.message };
  }
}

/** What is known of runs for a time. The store keeps the first note of a key, so that each period has a key. */
class SharedNotes<T extends { readonly atMs: number }> {
  readonly #parts: StandingRefusalsDependencies;
  readonly #kind: string;
  readonly #forMs: number;
  readonly #own = new BoundedMap<T>(MAX_RUNS);

  constructor(parts: StandingRefusalsDependencies, kind: string, forMs: number) {
    this.#parts = parts;
    this.#kind = kind;
    this.#forMs = forMs;
  }

  async note(tenantId: string, runId: string, note: T): Promise<void> {
    this.#own.set(nameRun(tenantId, runId), note);
    const { memory, logger } = this.#parts;
    const bodyHash = Buffer.from(JSON.stringify(note)).toString('base64url');
    try {
      await memory.remember(tenantId, this.#key(runId, note.atMs), { bodyHash, receivedAtMs: note.atMs });
    } catch (error) {
      logger.warn({ err: error, tenantId, runId }, 'state store unavailable, only this instance knows a stopped run');
    }
  }

  /** The notes that hold now, our own first. */
  async find(tenantId: string, runId: string): Promise<readonly T[]> {
    const nowMs = this.#parts.clock.now();
    const shared = await Promise.all(
      [nowMs, nowMs - this.#forMs].map((atMs) => this.#findShared(tenantId, this.#key(runId, atMs))),
    );
    return [this.#own.get(nameRun(tenantId, runId)), ...shared].flatMap((one) =>
      one !== undefined && nowMs - one.atMs < this.#forMs ? [one] : [],
    );
  }

  async #findShared(tenantId: string, key: string): Promise<T | undefined> {
    try {
      const shared = await this.#parts.memory.find(tenantId, key);
      if (shared === undefined) return undefined;
      return JSON.parse(Buffer.from(shared.bodyHash, 'base64url').toString()) as T;
    } catch (error) {
      if (!(error instanceof StateUnavailable)) throw error;
      return undefined;
    }
  }

  #key(runId: string, atMs: number): string {
    return `${this.#kind}:${Math.floor(atMs / this.#forMs)}:${runId}`;
  }
}

function nameRun(tenantId: string, runId: string): string {
  return JSON.stringify([tenantId, runId]);
}
