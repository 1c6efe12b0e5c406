import type { Session } from '@agentlens/operations';

interface SessionUpdatesOptions {
  readonly read: (runIds: readonly string[]) => Promise<readonly Session[]>;
  readonly show: (session: Session) => void;
  /** Only this session, where given. */
  readonly sessionId?: string;
  readonly onError: (error: unknown) => void;
  /** Changes that will not be shown, for being too many or for a failed read. */
  readonly onDropped: (what: 'session_change' | 'unread_session', count: number) => void;
  /** Least time between two reads, ms. Default 250. */
  readonly everyMs?: number;
}

const MOST_PER_READ = 50;
/** Beyond this the oldest are forgotten: a busy session changes again soon. */
const MOST_WAITING = 1_000;

/** Turns "these runs moved" into the runs as they are now: many changes between two reads cost one read. */
export class SessionUpdates {
  readonly #options: SessionUpdatesOptions;
  readonly #changed = new Set<string>();
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(options: SessionUpdatesOptions) {
    this.#options = options;
  }

  add(runIds: readonly string[]): void {
    const { sessionId } = this.#options;
    for (const runId of runIds) {
      if (sessionId === undefined || sessionId === runId) this.#changed.add(runId);
    }
    for (const oldest of this.#changed) {
      if (this.#changed.size <= MOST_WAITING) break;
      this.#changed.delete(oldest);
      this.#options.onDropped('session_change', 1);
    }
    this.#schedule();
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
  }

  #schedule(): void {
    if (this.#closed || this.#timer !== undefined || this.#changed.size === 0) return;
    this.#timer = setTimeout(() => void this.#read(), this.#options.everyMs ?? 250);
  }

  /** A failed read forgets its changes: the next change of a run shows it whole again. */
  async #read(): Promise<void> {
    const runIds = [...this.#changed].slice(0, MOST_PER_READ);
    for (const runId of runIds) this.#changed.delete(runId);
    try {
      const sessions = await this.#options.read(runIds);
      if (!this.#closed) for (const session of sessions) this.#options.show(session);
    } catch (error) {
      this.#options.onDropped('unread_session', runIds.length);
      this.#options.onError(error);
    }
    this.#timer = undefined;
    this.#schedule();
  }
}
