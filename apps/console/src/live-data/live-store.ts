import { type QueryClient, useQuery } from '@tanstack/react-query';
import { useSyncExternalStore } from 'react';
import type { StoredEvent } from '../api/model.ts';
import { platformClock } from '../ui/moment.tsx';
import { joinStream } from './shared-stream.ts';
import type { Connection, StreamFrame } from './stream-client.ts';

type LiveState = 'connecting' | 'live' | 'reconnecting' | 'stale' | 'paused' | 'refused';

/** Queries to refetch after a frame of each kind, by the first part of their keys. */
const TOUCHED: Readonly<Record<string, readonly string[]>> = {
  event: ['now', 'runs', 'run', 'timeline', 'spend', 'first'],
  session_update: ['now', 'runs', 'run', 'agents'],
  alert: ['now', 'history', 'summaries', 'rule', 'deliveries', 'agents'],
  alert_changed: ['now', 'alerts', 'timeline'],
  decision: ['now', 'decisions', 'timeline', 'summaries', 'labels'],
  delivery: ['now', 'deliveries', 'history', 'agents'],
  order: ['now', 'agents', 'timeline', 'run', 'runs', 'orders'],
  breaker: ['now', 'breakers', 'timeline', 'alerts'],
  rule: ['rules', 'rule', 'summaries'],
};

/** Minimum time between two refetches of one kind. */
const EVERY_MS = 1_000;
const MAX_EVENTS = 5_000;
const STALE_MS = 60_000;

interface Snapshot {
  readonly state: LiveState;
  /** Time of the last frame, for the stale state. */
  readonly since: number;
  readonly gaps: number;
}

/** Latest events of the live stream. Refetches queries that they affect. */
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

  /** Joins the browser's stream. @returns a function that leaves it */
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

  #take(batch: readonly StreamFrame[]): void {
    this.#heard = Date.now();
    const events: StoredEvent[] = [];
    for (const { kind, data } of batch) {
      if (kind === 'heartbeat') platformClock((data as { time: string }).time);
      if (kind === 'event' && data !== undefined) events.push(data as StoredEvent);
      for (const name of TOUCHED[kind] ?? []) this.#waiting.add(name);
    }
    this.#received += events.length;
    if (events.length > 0) this.#events = [...this.#events, ...events].slice(-MAX_EVENTS);
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

  /** A hidden tab does not refetch; it catches up once when it is visible again. */
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

/** A query that stays up to date; `TOUCHED` maps the first part of its key to stream frames. */
export function useRead<T>(
  key: readonly [string, ...unknown[]],
  read: (signal: AbortSignal) => Promise<T>,
  enabled = true,
) {
  return useQuery({ queryKey: key, queryFn: ({ signal }) => read(signal), enabled });
}
