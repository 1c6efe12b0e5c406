import { ResourceKey } from '../core/agent-context.ts';
import { AgentError, isAgentError } from '../core/agent-error.ts';
import type { Json } from '../core/json.ts';
import type { DatabaseClient } from './database-client.ts';

export interface MemoryEntry {
  /** Counts from 1 per stream and is unique; expired entries leave gaps. */
  readonly seq: number;
  readonly entry: Json;
}

export interface FoundMemory extends MemoryEntry {
  readonly streamKey: string;
  /** Higher is better; comparable only within one search. */
  readonly score: number;
}

export interface AppendMemory {
  readonly ttlMs?: number;
  /** A second append with the same key changes nothing and returns the first one's number. */
  readonly idempotencyKey?: string;
  /** The number that the entry must get. @throws AgentError `conflict` if another one is next; see `nextNumberOf` */
  readonly seq?: number;
}

export interface ReadMemory {
  /** Only entries with a higher number. */
  readonly after?: number;
  /** Only this many of the newest entries. */
  readonly last?: number;
}

export interface SearchMemory {
  readonly streamKey?: string;
  /** Default 10. */
  readonly topK?: number;
  readonly minScore?: number;
}

/** Ordered streams of entries: a conversation, a scratchpad, an agent's notes. */
export interface MemoryClient {
  append(streamKey: string, entry: Json, options?: AppendMemory): Promise<{ readonly seq: number }>;
  read(streamKey: string, options?: ReadMemory): Promise<MemoryEntry[]>;
  /** Entries with words of the query, best first. The query is plain text, not a query language. */
  search?(query: string, options?: SearchMemory): Promise<FoundMemory[]>;
  clear?(streamKey: string): Promise<void>;
  close?(): Promise<void>;
}

/** Error for a stream whose next number is not the expected one. */
export function numberTaken(next: number): AgentError {
  return new AgentError('conflict', `the next entry of this stream has the number ${next}`, { info: { next } });
}

/** The next number, if the error contains it. */
export function nextNumberOf(error: unknown): number | undefined {
  if (!isAgentError(error, 'conflict')) return undefined;
  const { info } = error;
  const next = typeof info === 'object' && info !== null && 'next' in info ? info.next : undefined;
  return typeof next === 'number' ? next : undefined;
}

/** Tools find the agent's memory with `context.getResource(MEMORY)`. */
export const MEMORY = ResourceKey<MemoryClient>('memory');
export const DATABASE = ResourceKey<DatabaseClient>('database');
