import { type QueryClient, useQuery } from '@tanstack/react-query';
import { useSyncExternalStore } from 'react';
import type { StoredEvent } from '../api/model.ts';
import { platformClock } from '../ui/moment.tsx';
import { joinStream } from './shared-stream.ts';
import type { Connection, Said } from './stream-client.ts';

type LiveState = 'connecting' | 'live' | 'reconnecting' | 'stale' | 'paused' | 'refused';

/** What is read again when something of this kind was said. Names are the first part of a query's key. */
const TOUCHED: Readonly<Record<string, readonly string[]>> = {
  event: ['now', 'runs', 'run', 'timeline', 'spend', 'first'],
  session_update: ['now', 'runs', 'run', 'agents'],
  alert: ['now', 'history', 'summaries', 'rule', 'deliveries', 'agents'],
  alert_changed: ['now', 'alerts', 'timeline'],
  decision: ['now', 'decisions', 'timeline', 'summaries'],
  delivery: ['now', 'deliveries', 'history', 'agents'],
  order: ['now', 'agents', 'timeline', 'run', 'runs', 'orders'],
  breaker: ['now', 'breakers', 'timeline', 'alerts'],
  rule: ['rules', 'rule', 'summaries'],
};

/** Reads of one kind go out at most so often, however much is said. */
const EVERY_MS = 1_000;
const MOST_EVENTS = 5_000;
const STALE_MS = 60_000;

interface Snapshot {
  readonly state: LiveState;
  /** Since when nothing came, where that matters. */
  readonly since: number;
  readonly gaps: number;
}

/** The newest of what was said, and what has to be read again because of it. */
class LiveStore {
  #snapshot: Snapshot = { state: 'connecting', since: Date.now(), gaps: 0 };
  #events: readonly StoredEvent[] = [];
  #paused = false;
  #heard = Date.now();
  #connection: Connection = 'connecting';
  readonly #listeners = new Set<() => void>();
  readonly #waiting = new Set<string>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #queries: QueryClient | undefined;
  #received = 0;

  /** Joins the browser's stream. @returns how to leave it */
  start(queries: QueryClient): () => void {
    this.#queries = queries;
    const leave = joinStream({
      onBatch: (batch) => this.#take(batch),
      onConnection: (connection) => this.#connected(connection),
      onGap: () => this.#gap(),
    });
    const watch = setInterval(() => this.#look(), 5_000);
    const onVisible = () => document.visibilityState === 'visible' && this.#flush();
    document.addEventListener('visibilitychange', onVisible);
    return () => {
      leave();
      clearInterval(watch);
      document.removeEventListener('visibilitychange', onVisible);
    };
  }

  subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  snapshot = (): Snapshot => this.#snapshot;
  events = (): readonly StoredEvent[] => this.#events;
  received = (): number => this.#received;

  pause(paused: boolean): void {
    this.#paused = paused;
    if (!paused) this.#flush();
    this.#look();
  }

  #take(batch: readonly Said[]): void {
    this.#heard = Date.now();
    const events: StoredEvent[] = [];
    for (const { kind, data } of batch) {
      if (kind === 'heartbeat') platformClock((data as { time: string }).time);
      if (kind === 'event' && data !== undefined) events.push(data as StoredEvent);
      for (const name of TOUCHED[kind] ?? []) this.#waiting.add(name);
    }
    this.#received += events.length;
    if (events.length > 0) this.#events = [...this.#events, ...events].slice(-MOST_EVENTS);
    this.#schedule();
    this.#look();
    if (events.length > 0) this.#tell();
  }

  #connected(connection: Connection): void {
    this.#connection = connection;
    if (connection === 'live') this.#heard = Date.now();
    this.#look();
  }

  #gap(): void {
    this.#snapshot = { ...this.#snapshot, gaps: this.#snapshot.gaps + 1 };
    for (const names of Object.values(TOUCHED)) for (const name of names) this.#waiting.add(name);
    this.#schedule();
    this.#tell();
  }

  #schedule(): void {
    if (this.#waiting.size === 0) return;
    this.#timer ??= setTimeout(() => this.#flush(), EVERY_MS);
  }

  /** A hidden tab reads nothing; when it is looked at again it reads once. */
  #flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#paused || document.visibilityState === 'hidden' || this.#waiting.size === 0) return;
    const names = new Set(this.#waiting);
    this.#waiting.clear();
    void this.#queries?.invalidateQueries({ predicate: ({ queryKey }) => names.has(String(queryKey[0])) });
  }

  #look(): void {
    const silent = Date.now() - this.#heard > STALE_MS;
    const state = this.#paused ? 'paused' : this.#connection === 'live' && silent ? 'stale' : this.#connection;
    if (state === this.#snapshot.state) return;
    this.#snapshot = { ...this.#snapshot, state, since: Date.now() };
    this.#tell();
  }

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }
}

export const live = new LiveStore();

export function useLive(): Snapshot {
  return useSyncExternalStore(live.subscribe, live.snapshot);
}

export function useLiveEvents(): readonly StoredEvent[] {
  return useSyncExternalStore(live.subscribe, live.events);
}

/** A read that is kept up to date: the first part of its key says what makes it read again. */
export function useRead<T>(
  key: readonly [string, ...unknown[]],
  read: (signal: AbortSignal) => Promise<T>,
  enabled = true,
) {
  return useQuery({ queryKey: key, queryFn: ({ signal }) => read(signal), enabled });
}
