import type { StoredEvent } from '../api/model.ts';
import type { Told } from './use-run.ts';

export interface Stretch {
  readonly runId: string;
  readonly from: string;
  readonly to: string;
  readonly kinds: readonly string[];
}

/** Reads the events of a stretch of a run, page by page, until `enough` says so. */
export type ReadEvents = (
  stretch: Stretch,
  enough: (events: readonly StoredEvent[]) => boolean,
  signal: AbortSignal,
) => Promise<void>;

interface WordsState {
  /** Why something could not be read, until it is asked for again; null: nothing failed. */
  readonly error: unknown;
  readonly busy: boolean;
}

/** Rows that are scrolled past are not read. */
const SETTLE_MS = 40;
/** Entries farther apart than this are read on their own: what lies between is not wanted. */
const MOST_APART = 50;
const MOST_AT_ONCE = 100;
const MOST_KEPT = 3_000;

/** What the events of a timeline say, read for what is looked at and kept as long as there is room. */
export class Words {
  readonly #read: ReadEvents;
  readonly #said = new Map<string, StoredEvent>();
  /** Asked for, answered or not: nothing is asked for twice. */
  readonly #asked = new Set<string>();
  readonly #listeners = new Set<() => void>();
  #wanted: readonly Told[] = [];
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
  /** Another object whenever more is known. */
  state = (): WordsState => this.#state;

  of(entry: Told | undefined): StoredEvent | undefined {
    return entry === undefined ? undefined : this.#said.get(keyOf(entry));
  }

  /** @param entries what is looked at now; what was wanted before and is not any more is not read */
  want(entries: readonly Told[]): void {
    this.#wanted = entries.filter((entry) => entry.type === 'event' && !this.#asked.has(keyOf(entry)));
    if (this.#wanted.length === 0 || this.#timer !== undefined || this.#state.error !== null) return;
    this.#timer = setTimeout(() => this.#ask(), SETTLE_MS);
    this.#tell(null);
  }

  /** Asks again for what could not be read. */
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
    // What was wanted may have come meanwhile.
    if (this.#reads === 0) this.#tell(this.#state.error);
  }

  async #load(entries: readonly [Told, ...Told[]], signal: AbortSignal): Promise<void> {
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
      if (this.#said.size <= MOST_KEPT) return;
      this.#said.delete(key);
      this.#asked.delete(key);
    }
  }

  #tell(error: unknown): void {
    this.#state = { error, busy: this.#reads > 0 || this.#timer !== undefined };
    for (const listener of this.#listeners) listener();
  }
}

/** An id alone need not be one event. */
function keyOf({ runId, at, id }: Pick<Told, 'runId' | 'at' | 'id'>): string {
  return `${runId} ${at} ${id}`;
}

/** Entries that lie near each other in one run, each to be read at once. */
export function stretchesOf(entries: readonly Told[]): (readonly [Told, ...Told[]])[] {
  const sorted = entries.toSorted((a, b) => (a.runId < b.runId ? -1 : a.runId > b.runId ? 1 : a.place - b.place));
  const stretches: [Told, ...Told[]][] = [];
  for (const entry of sorted) {
    const current = stretches.at(-1);
    const last = current?.at(-1);
    const isNear = last !== undefined && last.runId === entry.runId && entry.place - last.place <= MOST_APART;
    if (current !== undefined && isNear && current.length < MOST_AT_ONCE) current.push(entry);
    else stretches.push([entry]);
  }
  return stretches;
}
