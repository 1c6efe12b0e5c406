import { hash } from 'node:crypto';
import { escaped } from '../escaped.ts';

/**
 * Every Redis key of the platform. All keys of one script call carry the same hash tag, so that Redis Cluster keeps
 * them on one node. Lifetimes are in lifetimes.ts and count from the last write.
 *
 * | key                                | value                                                              | ttl            |
 * |------------------------------------|--------------------------------------------------------------------|----------------|
 * | `window:{tenant:agent}:<series>`   | hash: `head` newest bucket number, `sum` running total, `0`-`59`   | window + 1 h,  |
 * |                                    | buckets, `b0`-`b59` sketch bins; of a run or day only `sum`, `b`   | 7 d run, 49 h  |
 * | `inbox:{tenant:agent}:<message>`   | question and answer of a message that was counted                  | 1 h            |
 * | `seen:{tenant:agent}:<10 minutes>` | set of hashed ids of events that may be sent again                 | 2 h            |
 * | `cooldown:{tenant:agent}:<rule>[:dry]` | when it fired and id of the trigger that holds the cooldown    | cooldown + 1 h |
 * | `quota:{key id}`                   | tokens left and when                                               | until full     |
 * | `idempotency:{tenant}:<hashed key>`| arrival and body hash of the first request                         | 24 h           |
 * | `presence:{tenant}`                | sorted set of connected SDK instances by when they are gone        | 10 min         |
 * | `content:{tenant}:<hashed id>`     | short hash of an event's content                                   | 5 min          |
 */
export class AgentKeys {
  readonly #tag: string;

  constructor(tenantId: string, agentId: string) {
    this.#tag = `{${tenantId}:${escaped(agentId)}}`;
  }

  /** `series` as made by seriesName. */
  window(series: string): string {
    return `window:${this.#tag}:${series}`;
  }

  inbox(messageId: string): string {
    return `inbox:${this.#tag}:${escaped(messageId)}`;
  }

  seen(epoch: number): string {
    return `seen:${this.#tag}:${epoch}`;
  }

  cooldown(ruleId: string, dryRun: boolean): string {
    return `cooldown:${this.#tag}:${escaped(ruleId)}${dryRun ? ':dry' : ''}`;
  }
}

export function quotaKey(keyId: string): string {
  return `quota:{${escaped(keyId)}}`;
}

/** Idempotency keys are client text of any length, so their hash stands for them. */
export function idempotencyKey(tenantId: string, key: string): string {
  return `idempotency:{${tenantId}}:${hash('sha256', key, 'base64url')}`;
}

export function presenceKey(tenantId: string): string {
  return `presence:{${tenantId}}`;
}

/** `eventFingerprint` is the event id's hash. */
export function contentKey(tenantId: string, eventFingerprint: string): string {
  return `content:{${tenantId}}:${eventFingerprint}`;
}
