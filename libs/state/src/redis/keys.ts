import { hash } from 'node:crypto';
import type { BreakerRef, BudgetAccount, WiderScope } from '@agentlens/guardrails';
import { escaped } from '../windows/question.ts';

/**
 * Every Redis key of the platform. All keys of one script call have the same hash tag, so that Redis Cluster keeps them
 * on one node. TTLs are defined in lifetimes.ts and count from the last write.
 *
 * | key                                | value                                                              | ttl            |
 * |------------------------------------|--------------------------------------------------------------------|----------------|
 * | `windows:{tenant}:<agent>`         | hash: per series the sliding window and its newest bucket (lua/cells.lua) | 25 h    |
 * | `windows:{tenant}:<agent>:<series>` | hash: the other non-empty buckets of one window                   | window + 1 h   |
 * | `total:{tenant}:<agent>:<series>`  | total of a run or a day                                            | 7 d run, 49 h  |
 * | `windows:since`                    | time since which all windows are complete; missing if they were lost | none         |
 * | `inbox:{tenant}:<agent>:<message>` | question and answer of a counted message                           | 1 h            |
 * | `seen:{tenant}:<agent>:<10 minutes>` | set of hashed ids of retryable events                            | 2 h            |
 * | `cooldowns:{tenant}:<agent>`       | hash: per rule the time it fired, the trigger that holds the cooldown, the time it was rearmed | longest + 1 h |
 * | `quota:{key id}`                   | tokens left and when                                               | until full     |
 * | `idempotency:{tenant}:<hashed key>`| arrival and body hash of the first request                         | 24 h           |
 * | `once:{tenant}:<hashed key>`       | a change that is executed once, and its sealed answer              | 24 h           |
 * | `run:{tenant}:<hashed run id>`     | session, actor and tags from the start of the run                  | 7 d            |
 * | `tree:{tenant}:<run>`              | set of runs under a topmost run, and it, if their number is limited | 7 d            |
 * | `children:{tenant}:<run>`          | set of runs that a run started, if their number is limited         | 7 d            |
 * | `refused-run:{tenant}:<run>`       | flag: a limit of its tree keeps the run out                        | 7 d            |
 * | `presence:{tenant}`                | sorted set of connected SDK instances by expiry                    | 10 min         |
 * | `content:{tenant}:<hashed id>`     | short hash of an event's content                                   | 5 min          |
 * | `calls:{tenant:<scope>:<id>}[:order]` | the same of a tree, session, agent or tenant                     | 7 d            |
 * | `calls:{tenant:run}[:order]`       | tool calls of a run by call key, and their order                   | 7 d            |
 * | `labels:{tenant}:<run>`            | hash: labels of the tree under a run, and the call that set each first | 7 d           |
 * | `evidence:{tenant}:<run>:<label>`  | hash: fingerprints of the results of a label's source calls        | 7 d          |
 * | `labels-complete:{tenant}`         | marker of complete labels; missing if they were lost               | none         |
 * | `labels-restoring:{tenant}:<id>`   | a process that is restoring labels; missing if they were lost meanwhile | 10 min  |
 * | `breaker:{tenant:agent}:run:<run>`, `:agent` | circuit breaker: state, usage, revision                  | 7 d, 30 d      |
 * | `breaker:{tenant}:tree:<run>`      | the same of a run tree, by its topmost run                         | 7 d            |
 * | `asked:{tenant:agent}:<breaker>`   | set of questions whose metrics were added to the breaker           | 7 d            |
 * | `counted:{tenant:agent}:<10 minutes>` | set of hashed ids of events that the breakers counted           | 2 h            |
 * | `counted:{tenant}:trees:<10 minutes>` | the same for breakers of run trees                              | 2 h            |
 * | `asking:{tenant}`                  | flag: the tenant's agents ask for decisions                        | 7 d            |
 * | `pot:{tenant}:<budget>:<period>:<scope id>[:holds]` | amounts spent and held, and the holds             | past period    |
 * | `tree-pots:{tenant}:<run>`         | hash: accounts of the tree under a run, by key                     | past period    |
 * | `joined-tree:{tenant}:<run>`       | the run whose tree a run's tree became part of, for budgets        | 7 d            |
 * | `pots:{tenant}`                    | flag: the tenant's accounts are complete                           | none           |
 * | `reserved:{tenant}:<id>`           | estimate and accounts of a reservation, and what ended it          | expiry + 7 d   |
 * | `charge:{tenant}:<hashed event id>` | flag: the event's cost was counted                                | 2 h            |
 * | `session:{tenant}:<run>`           | session of a run                                                   | 7 d            |
 * | `evaluated:{<minute>}`             | evaluated events by tenant, per minute of arrival                  | 24 h           |
 * | `evaluated:{<minute>}:<block>`     | one bit per message, by position in the stream                     | 24 h           |
 * | `spendings:{tenant}`               | stream of spending that is not in Postgres yet                     | none           |
 */
export class BreakerKeys {
  readonly #tag: string;
  readonly #ofTrees: boolean;

  /** @param refs breakers of the agent and its runs, or of run trees */
  constructor(tenantId: string, agentId: string, refs: readonly BreakerRef[]) {
    this.#ofTrees = refs[0]?.scope === 'tree';
    this.#tag = this.#ofTrees ? `{${tenantId}}` : `{${tenantId}:${escaped(agentId)}}`;
  }

  breaker(ref: BreakerRef): string {
    return `breaker:${this.#tag}:${breakerName(ref)}`;
  }

  asked(ref: BreakerRef): string {
    return `asked:${this.#tag}:${breakerName(ref)}`;
  }

  counted(epoch: number): string {
    return `counted:${this.#tag}:${this.#ofTrees ? 'trees:' : ''}${epoch}`;
  }
}

/** The hash tag contains the agent of a run. */
function breakerName({ scope, scopeId }: BreakerRef): string {
  return scope === 'agent' ? 'agent' : `${scope}:${escaped(scopeId)}`;
}

/** Windows of a tenant's agents, which are counted together. Series names come from seriesName. */
export class WindowKeys {
  readonly #tag: string;

  constructor(tenantId: string) {
    this.#tag = `{${tenantId}}`;
  }

  /** An agent's rings. With a colon and the name of a series appended: the older buckets of that ring. */
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

/** Budgets span all agents of a tenant. */
export class BudgetKeys {
  readonly tag: string;

  constructor(tenantId: string) {
    this.tag = `{${tenantId}}`;
  }

  get marker(): string {
    return `pots:${this.tag}`;
  }

  get ledger(): string {
    return `spendings:${this.tag}`;
  }

  /** Written by releases up to 0.1, in millionths of a dollar; only read until it is empty. */
  get ledgerInMillionths(): string {
    return `ledger:${this.tag}`;
  }

  account({ budgetId, periodStart, scopeId }: BudgetAccount): string {
    return `pot:${this.tag}:${escaped(budgetId)}:${periodStart}:${escaped(scopeId)}`;
  }

  holds(account: BudgetAccount): string {
    return `${this.account(account)}:holds`;
  }

  session(runId: string): string {
    return `session:${this.tag}:${escaped(runId)}`;
  }

  reservation(reservationId: string): string {
    return `reserved:${this.tag}:${escaped(reservationId)}`;
  }

  holder(name: string): string {
    return `held-by:${this.tag}:${escaped(name)}`;
  }

  charge(eventId: string): string {
    return `charge:${this.tag}:${hash('sha256', eventId, 'base64url')}`;
  }

  treeAccounts(treeId: string): string {
    return `tree-pots:${this.tag}:${escaped(treeId)}`;
  }
}

/** @param minuteMs start of the minute */
export function evaluatedKey(minuteMs: number): string {
  return `evaluated:{${minuteMs}}`;
}

export function evaluatedSequencesKey(minuteMs: number, block: number): string {
  return `${evaluatedKey(minuteMs)}:${block}`;
}

export function callsKey(tenantId: string, runId: string): string {
  return `calls:{${tenantId}:${escaped(runId)}}`;
}

/** Differs from the key of any run, whose id is escaped. */
export function scopeCallsKey(tenantId: string, scope: WiderScope, scopeId: string): string {
  return `calls:{${tenantId}:${scope}:${escaped(scopeId)}}`;
}

export function callOrderKey(tenantId: string, runId: string): string {
  return `${callsKey(tenantId, runId)}:order`;
}

export function labelsMarkerKey(tenantId: string): string {
  return `labels-complete:{${tenantId}}`;
}

export function restoringLabelsKey(tenantId: string, id: string): string {
  return `labels-restoring:{${tenantId}}:${id}`;
}

export function evidenceKey(tenantId: string, runId: string, label: string): string {
  return `evidence:{${tenantId}}:${escaped(runId)}:${label}`;
}

export function labelsKey(tenantId: string, runId: string): string {
  return `labels:{${tenantId}}:${escaped(runId)}`;
}

export function askingKey(tenantId: string): string {
  return `asking:{${tenantId}}`;
}

export function quotaKey(keyId: string): string {
  return `quota:{${escaped(keyId)}}`;
}

/** Hashed, because idempotency keys are client text of any length. */
export function idempotencyKey(tenantId: string, key: string): string {
  return `idempotency:{${tenantId}}:${hash('sha256', key, 'base64url')}`;
}

export function onceKey(tenantId: string, key: string): string {
  return `once:{${tenantId}}:${hash('sha256', key, 'base64url')}`;
}

export function runContextKey(tenantId: string, runId: string): string {
  return `run:{${tenantId}}:${hash('sha256', runId, 'base64url')}`;
}

export function treeKey(tenantId: string, rootId: string): string {
  return `tree:{${tenantId}}:${escaped(rootId)}`;
}

export function childrenKey(tenantId: string, parentId: string): string {
  return `children:{${tenantId}}:${escaped(parentId)}`;
}

export function refusedRunKey(tenantId: string, runId: string): string {
  return `refused-run:{${tenantId}}:${escaped(runId)}`;
}

export function presenceKey(tenantId: string): string {
  return `presence:{${tenantId}}`;
}

/** @param eventFingerprint hash of the event id */
export function contentKey(tenantId: string, eventFingerprint: string): string {
  return `content:{${tenantId}}:${eventFingerprint}`;
}
