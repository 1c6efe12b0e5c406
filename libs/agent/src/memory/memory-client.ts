import { AgentError, isAgentError } from '../core/agent-error.ts';
import type { Json } from '../core/json.ts';

export interface MemoryEntry {
  /** Counts from 1 per stream, without two of one number; what expired leaves gaps. */
  readonly seq: number;
  readonly entry: Json;
}

export interface FoundMemory extends MemoryEntry {
  readonly streamKey: string;
  /** Higher fits better; only the order of one search means something. */
  readonly score: number;
}

export interface AppendMemory {
  readonly ttlMs?: number;
  /** A second append with it changes nothing and answers the first one's number. */
  readonly idempotencyKey?: string;
  /** The number that the entry must get. @throws AgentError `conflict` if another one is next; see `nextNumberOf` */
  readonly seq?: number;
}

export interface ReadMemory {
  /** Only entries with a higher number. */
  readonly after?: number;
  /** Only the newest so many. */
  readonly last?: number;
}

export interface SearchMemory {
  readonly streamKey?: string;
  /** Default 10. */
  readonly topK?: number;
  readonly minScore?: number;
}

/** Ordered streams of entries: a conversation, a scratchpad, what an agent remembers. */
export interface MemoryClient {
  append(streamKey: string, entry: Json, options?: AppendMemory): Promise<{ readonly seq: number }>;
  read(streamKey: string, options?: ReadMemory): Promise<MemoryEntry[]>;
  /** Entries with words of the query, the best first. The query is text, never a query language. */
  search?(query: string, options?: SearchMemory): Promise<FoundMemory[]>;
  clear?(streamKey: string): Promise<void>;
  close?(): Promise<void>;
}

/** Of a stream in which another number is next than the one asked for. */
export function numberTaken(next: number): AgentError {
  return new AgentError('conflict', `the next entry of this stream has the number ${next}`, { info: { next } });
}

/** The number that is next, if that is what the error says. */
export function nextNumberOf(error: unknown): number | undefined {
  if (!isAgentError(error, 'conflict')) return undefined;
  const { info } = error;
  const next = typeof info === 'object' && info !== null && 'next' in info ? info.next : undefined;
  return typeof next === 'number' ? next : undefined;
}
