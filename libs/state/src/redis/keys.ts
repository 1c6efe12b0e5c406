import { hash } from 'node:crypto';
import type { BreakerRef, BudgetAccount } from '@agentlens/guardrails';
import { escaped } from '../windows/question.ts';

/**
 * Every Redis key of the platform. All keys of one script call carry the same hash tag, so that Redis Cluster keeps
 * them on one node. Lifetimes are in lifetimes.ts and count from the last write.
 *
 * | key                                | value                                                              | ttl            |
 * |------------------------------------|--------------------------------------------------------------------|----------------|
 * | `windows:{tenant}:<agent>`         | hash: by series its sliding window and newest bucket (lua/cells.lua) | 25 h           |
 * | `windows:{tenant}:<agent>:<series>` | hash: the other buckets of one window that hold anything           | window + 1 h   |
 * | `total:{tenant}:<agent>:<series>`  | all that a run or a day brought                                    | 7 d run, 49 h  |
 * | `windows:since`                    | since when all windows are complete; missing: they are lost        | none           |
 * | `inbox:{tenant}:<agent>:<message>` | question and answer of a message that was counted                  | 1 h            |
 * | `seen:{tenant}:<agent>:<10 minutes>` | set of hashed ids of events that may be sent again               | 2 h            |
 * | `cooldowns:{tenant}:<agent>`       | hash: by rule when it fired, the trigger that holds its cooldown, when it was rearmed | longest + 1 h |
 * | `quota:{key id}`                   | tokens left and when                                               | until full     |
 * | `idempotency:{tenant}:<hashed key>`| arrival and body hash of the first request                         | 24 h           |
 * | `once:{tenant}:<hashed key>`       | a change that is carried out once, and its sealed answer           | 24 h           |
 * | `run:{tenant}:<hashed run id>`     | what the run's start said: session, actor, tags                    | 7 d            |
 * | `presence:{tenant}`                | sorted set of connected SDK instances by when they are gone        | 10 min         |
 * | `content:{tenant}:<hashed id>`     | short hash of an event's content                                   | 5 min          |
 * | `calls:{tenant:run}[:order]`       | tool calls of a run by call key, and their order                   | 7 d            |
 * | `breaker:{tenant:agent}:run:<run>`, `:agent` | a circuit breaker: state, usage, revision                | 7 d, 30 d      |
 * | `asked:{tenant:agent}:<breaker>`   | set of questions whose metrics were added to the breaker           | 7 d            |
 * | `counted:{tenant:agent}:<10 minutes>` | set of hashed ids of events the breakers counted                | 2 h            |
 * | `asking:{tenant}`                  | the tenant's agents ask for decisions                              | 7 d            |
 * | `pot:{tenant}:<budget>:<period>:<scope id>[:holds]` | money spent and held, and what holds it           | past period    |
 * | `pots:{tenant}`                    | the tenant's money is complete                                     | none           |
 * | `reserved:{tenant}:<id>`           | estimate and accounts of a reservation, and what ended it          | expiry + 7 d   |
 * | `charge:{tenant}:<hashed event id>` | the event's cost was counted                                      | 2 h            |
 * | `session:{tenant}:<run>`           | the session a run belongs to                                       | 7 d            |
 * | `evaluated:{<minute>}`             | events by tenant that were evaluated, of one minute of arrival     | 24 h           |
 * | `evaluated:{<minute>}:<block>`     | a bit for each of their messages, by place in the stream           | 24 h           |
 * | `spendings:{tenant}`               | stream of what was spent and is not in Postgres yet                | none           |
 */
export class AgentKeys {
  readonly #tag: string;

  constructor(tenantId: string, agentId: string) {
    this.#tag = `{${tenantId}:${escaped(agentId)}}`;
  }

  breaker(ref: BreakerRef): string {
    return `breaker:${this.#tag}:${breakerName(ref)}`;
  }

  asked(ref: BreakerRef): string {
    return `asked:${this.#tag}:${breakerName(ref)}`;
  }

  counted(epoch: number): string {
    return `counted:${this.#tag}:${epoch}`;
  }
}

/** The agent is in the hash tag already. */
function breakerName({ scope, scopeId }: BreakerRef): string {
  return scope === 'agent' ? 'agent' : `run:${escaped(scopeId)}`;
}

/** Windows of a tenant's agents, which are counted together. Series as made by seriesName. */
export class WindowKeys {
  readonly #tag: string;

  constructor(tenantId: string) {
    this.#tag = `{${tenantId}}`;
  }

  /** The agent's rings; with a colon and the series' name added, the older buckets of one of them. */
  rings(agentId: string): string {
    return `windows:${this.#tag}:${escaped(agentId)}`;
  }

  total(agentId: string, series: string): string {
    return `total:${this.#tag}:${escaped(agentId)}:${series}`;
  }

  inbox(agentId: string, messageId: string): string {
    return `inbox:${this.#tag}:${escaped(agentId)}:${escaped(messageId)}`;
  }

  seen(agentId: string, epoch: number): string {
    return `seen:${this.#tag}:${escaped(agentId)}:${epoch}`;
  }

  cooldowns(agentId: string): string {
    return `cooldowns:${this.#tag}:${escaped(agentId)}`;
  }
}

/** Money is counted over all agents of a tenant. */
export class BudgetKeys {
  readonly #tag: string;

  constructor(tenantId: string) {
    this.#tag = `{${tenantId}}`;
  }

  get marker(): string {
    return `pots:${this.#tag}`;
  }

  get ledger(): string {
    return `spendings:${this.#tag}`;
  }

  /** Of a release up to 0.1, in millionths of a dollar; only read, until nothing is left in it. */
  get ledgerInMillionths(): string {
    return `ledger:${this.#tag}`;
  }

  account({ budgetId, periodStart, scopeId }: BudgetAccount): string {
    return `pot:${this.#tag}:${escaped(budgetId)}:${periodStart}:${escaped(scopeId)}`;
  }

  holds(account: BudgetAccount): string {
    return `${this.account(account)}:holds`;
  }

  session(runId: string): string {
    return `session:${this.#tag}:${escaped(runId)}`;
  }

  reservation(reservationId: string): string {
    return `reserved:${this.#tag}:${escaped(reservationId)}`;
  }

  charge(eventId: string): string {
    return `charge:${this.#tag}:${hash('sha256', eventId, 'base64url')}`;
  }
}

/** `minuteMs` is when the minute began. */
export function evaluatedKey(minuteMs: number): string {
  return `evaluated:{${minuteMs}}`;
}

export function evaluatedSequencesKey(minuteMs: number, block: number): string {
  return `${evaluatedKey(minuteMs)}:${block}`;
}

export function callsKey(tenantId: string, runId: string): string {
  return `calls:{${tenantId}:${escaped(runId)}}`;
}

export function callOrderKey(tenantId: string, runId: string): string {
  return `${callsKey(tenantId, runId)}:order`;
}

export function askingKey(tenantId: string): string {
  return `asking:{${tenantId}}`;
}

export function quotaKey(keyId: string): string {
  return `quota:{${escaped(keyId)}}`;
}

/** Idempotency keys are client text of any length, so their hash stands for them. */
export function idempotencyKey(tenantId: string, key: string): string {
  return `idempotency:{${tenantId}}:${hash('sha256', key, 'base64url')}`;
}

export function onceKey(tenantId: string, key: string): string {
  return `once:{${tenantId}}:${hash('sha256', key, 'base64url')}`;
}

export function runContextKey(tenantId: string, runId: string): string {
  return `run:{${tenantId}}:${hash('sha256', runId, 'base64url')}`;
}

export function presenceKey(tenantId: string): string {
  return `presence:{${tenantId}}`;
}

/** `eventFingerprint` is the event id's hash. */
export function contentKey(tenantId: string, eventFingerprint: string): string {
  return `content:{${tenantId}}:${eventFingerprint}`;
}
