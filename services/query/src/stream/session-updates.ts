import type { Session } from '@agentlens/operations';

interface SessionUpdatesOptions {
  readonly read: (runIds: readonly string[]) => Promise<readonly Session[]>;
  readonly show: (session: Session) => void;
  /** Restricts updates to this session. */
  readonly sessionId?: string;
  readonly onError: (error: unknown) => void;
  /** Called for changes that will not be shown, because there were too many or a read failed. */
  readonly onDropped: (what: 'session_change' | 'unread_session', count: number) => void;
  /** Minimum time between two reads, in ms. Default 250. */
  readonly everyMs?: number;
}

const MAX_SESSIONS_PER_READ = 50;
/** Beyond this the oldest are dropped. A busy session soon changes again. */
const MAX_WAITING_SESSIONS = 1_000;

/** Reads the current state of runs that changed. Changes between two reads cost a single read. */
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
      if (this.#changed.size <= MAX_WAITING_SESSIONS) break;
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

  /** A failed read drops its changes. The next change of a run shows its whole state. */
  async #read(): Promise<void> {
    const runIds = [...this.#changed].slice(0, MAX_SESSIONS_PER_READ);
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
