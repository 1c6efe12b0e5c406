import type { StoredEvent } from '../api/model.ts';
import type { RunEntry } from './use-run.ts';

export interface Stretch {
  readonly runId: string;
  readonly from: string;
  readonly to: string;
  readonly kinds: readonly string[];
}

/** Reads events of a range of a run page by page until `enough` returns true. */
export type ReadEvents = (
  stretch: Stretch,
  enough: (events: readonly StoredEvent[]) => boolean,
  signal: AbortSignal,
) => Promise<void>;

interface WordsState {
  /** Error of the last failed read, until a retry. Null: none failed. */
  readonly error: unknown;
  readonly busy: boolean;
}

/** Rows that are only scrolled past are not loaded. */
const SETTLE_MS = 40;
/** Entries farther apart than this are read separately. */
const MAX_ENTRIES_APART = 50;
const MAX_ENTRIES_AT_ONCE = 100;
const MAX_EVENTS_KEPT = 3_000;

/** Cache of event contents, loaded for visible entries. */
export class EventContents {
  readonly #read: ReadEvents;
  readonly #said = new Map<string, StoredEvent>();
  /** Requested keys, so that nothing is requested twice. */
  readonly #asked = new Set<string>();
  readonly #listeners = new Set<() => void>();
  #wanted: readonly RunEntry[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;
  #stop = new AbortController();
  #reads = 0;
  #state: WordsState = { error: null, busy: false };

  constructor(read: ReadEvents) {
    this.#read = read;
  }

  subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };
  /** A new object after every change. */
  state = (): WordsState => this.#state;

  of(entry: RunEntry | undefined): StoredEvent | undefined {
    return entry === undefined ? undefined : this.#said.get(keyOf(entry));
  }

  /** @param entries visible entries; requests for others are dropped */
  want(entries: readonly RunEntry[]): void {
    this.#wanted = entries.filter((entry) => entry.type === 'event' && !this.#asked.has(keyOf(entry)));
    if (this.#wanted.length === 0 || this.#timer !== undefined || this.#state.error !== null) return;
    this.#timer = setTimeout(() => this.#ask(), SETTLE_MS);
    this.#tell(null);
  }

  /** Retries failed reads. */
  retry(): void {
    this.#tell(null);
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#stop.abort();
    this.#stop = new AbortController();
    this.#asked.clear();
    for (const key of this.#said.keys()) this.#asked.add(key);
  }

  #ask(): void {
    this.#timer = undefined;
    for (const entries of stretchesOf(this.#wanted)) void this.#load(entries, this.#stop.signal);
    // The entry may have been loaded in the meantime.
    if (this.#reads === 0) this.#tell(this.#state.error);
  }

  async #load(entries: readonly [RunEntry, ...RunEntry[]], signal: AbortSignal): Promise<void> {
    this.#reads++;
    const missing = new Set(entries.map(keyOf));
    for (const key of missing) this.#asked.add(key);
    const [{ runId, at: from }] = entries;
    const to = entries.reduce((latest, { at }) => (at > latest ? at : latest), from);
    const kinds = [...new Set(entries.flatMap(({ kind }) => kind ?? []))].sort();
    try {
      await this.#read(
        { runId, from, to, kinds },
        (events) => {
          for (const event of events) missing.delete(this.#keep(event));
          return missing.size === 0;
        },
        signal,
      );
      this.#reads--;
      this.#forget();
      this.#tell(this.#state.error);
    } catch (error) {
      this.#reads--;
      if (signal.aborted) return;
      for (const key of missing) this.#asked.delete(key);
      this.#tell(error);
    }
  }

  #keep(event: StoredEvent): string {
    const key = keyOf({ runId: event.sessionId, at: event.timestamp, id: event.id });
    this.#said.set(key, event);
    this.#asked.add(key);
    return key;
  }

  #forget(): void {
    for (const key of this.#said.keys()) {
      if (this.#said.size <= MAX_EVENTS_KEPT) return;
      this.#said.delete(key);
      this.#asked.delete(key);
    }
  }

  #tell(error: unknown): void {
    this.#state = { error, busy: this.#reads > 0 || this.#timer !== undefined };
    for (const listener of this.#listeners) listener();
  }
}

/** Event ids are not unique on their own. */
function keyOf({ runId, at, id }: Pick<RunEntry, 'runId' | 'at' | 'id'>): string {
  return `${runId} ${at} ${id}`;
}

/** Groups entries that are close to each other in one run. */
export function stretchesOf(entries: readonly RunEntry[]): (readonly [RunEntry, ...RunEntry[]])[] {
  const sorted = entries.toSorted((a, b) => (a.runId < b.runId ? -1 : a.runId > b.runId ? 1 : a.place - b.place));
  const stretches: [RunEntry, ...RunEntry[]][] = [];
  for (const entry of sorted) {
    const current = stretches.at(-1);
    const last = current?.at(-1);
    const isNear = last !== undefined && last.runId === entry.runId && entry.place - last.place <= MAX_ENTRIES_APART;
    if (current !== undefined && isNear && current.length < MAX_ENTRIES_AT_ONCE) current.push(entry);
    else stretches.push([entry]);
  }
  return stretches;
}
