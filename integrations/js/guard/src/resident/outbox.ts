import { mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { isRecord, type JsonRecord } from '../hosts/host.ts';
import { readText, writeWhole } from '../state.ts';
import { NoDecision } from './platform.ts';

const FLUSH_AFTER_MS = 100;
const MAX_BATCH = 200;
const MAX_SPOOL_BYTES = 10_000_000;
const RETRY_MS = 10_000;

interface OutboxDependencies {
  readonly send: (agentId: string, events: readonly JsonRecord[]) => Promise<void>;
  readonly spool: string;
  readonly log: (message: string) => void;
}

interface Queued {
  readonly agentId: string;
  readonly event: JsonRecord;
}

/** Sends events in order. Events have ids, so a repeated one counts once. What cannot be sent waits in a file. */
export class Outbox {
  readonly #deps: OutboxDependencies;
  #queue: Queued[] = [];
  #flushing: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #dropped = 0;

  constructor(deps: OutboxDependencies) {
    this.#deps = deps;
    if (this.spooled > 0) this.#later(RETRY_MS);
  }

  /** Bytes that wait in the file. */
  get spooled(): number {
    try {
      return statSync(this.#deps.spool).size;
    } catch {
      // Nothing waits.
      return 0;
    }
  }

  get dropped(): number {
    return this.#dropped;
  }

  add(agentId: string, event: JsonRecord): void {
    this.#queue.push({ agentId, event });
    this.#later(FLUSH_AFTER_MS);
  }

  /** Sends everything that waits. Never throws: what cannot be sent stays. */
  async flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    // The second caller waits for the first, then sends what was added meanwhile.
    while (this.#flushing !== undefined) await this.#flushing;
    this.#flushing = this.#send().finally(() => {
      this.#flushing = undefined;
    });
    await this.#flushing;
  }

  async #send(): Promise<void> {
    const waiting = [...this.#readSpool(), ...this.#queue];
    this.#queue = [];
    const hadSpool = this.spooled > 0;
    let at = 0;
    try {
      while (at < waiting.length) {
        const { agentId } = waiting[at] as Queued;
        let to = at;
        while (to < waiting.length && to - at < MAX_BATCH && waiting[to]?.agentId === agentId) to++;
        const events = waiting.slice(at, to).map(({ event }) => event);
        try {
          await this.#deps.send(agentId, events);
        } catch (error) {
          // A batch that the platform rejects would block all later ones.
          if (!(error instanceof NoDecision) || !error.rejected) throw error;
          this.#dropped += events.length;
          this.#deps.log(`${events.length} events were rejected: ${error.message}`);
        }
        at = to;
      }
      if (hadSpool) this.#writeSpool([]);
    } catch (error) {
      this.#deps.log(`events are kept for later: ${error instanceof Error ? error.message : String(error)}`);
      this.#writeSpool(waiting.slice(at));
      this.#later(RETRY_MS);
    }
  }

  #readSpool(): Queued[] {
    if (this.spooled === 0) return [];
    return (readText(this.#deps.spool) ?? '').split('\n').flatMap((line) => {
      try {
        const queued: unknown = JSON.parse(line);
        return isRecord(queued) && typeof queued.agentId === 'string' && isRecord(queued.event)
          ? [{ agentId: queued.agentId, event: queued.event }]
          : [];
      } catch {
        // The last line of a file whose writer ended in the middle.
        return [];
      }
    });
  }

  /** The oldest go first if there are more than the file may have. */
  #writeSpool(waiting: readonly Queued[]): void {
    const lines = waiting.map((queued) => `${JSON.stringify(queued)}\n`);
    let size = lines.reduce((sum, line) => sum + Buffer.byteLength(line), 0);
    let from = 0;
    for (; size > MAX_SPOOL_BYTES && from < lines.length; from++) size -= Buffer.byteLength(lines[from] ?? '');
    this.#dropped += from;
    mkdirSync(dirname(this.#deps.spool), { recursive: true, mode: 0o700 });
    writeWhole(this.#deps.spool, lines.slice(from).join(''), 0o600);
  }

  #later(ms: number): void {
    if (this.#timer !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      void this.flush();
    }, ms);
    this.#timer.unref();
  }
}
