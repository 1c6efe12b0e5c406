import { MAX_DEPTH } from '@agentlens/decisions';

/** Limits of one request. Documented in docs/wire-format.md; a change there changes the contract. */
export const LIMITS = {
  eventsPerRequest: 1000,
  depth: MAX_DEPTH,
  keysPerObject: 256,
  keyChars: 1024,
  /** Prompts and tool results are legitimately large. */
  stringChars: 256 * 1024,
  /** Below the broker's default of 1 MiB, with room for headers. */
  messageBytes: 1_000_000,
  /** Any event fits into a message with its envelope. */
  eventBytes: 990_000,
  /** How far ahead a client's clock may be. */
  aheadMs: 10 * 60_000,
} as const;
