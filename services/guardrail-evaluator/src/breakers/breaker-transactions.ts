import type { BreakerLimits, BreakerState } from '@agentlens/contracts';
import {
  type AskedUsage,
  type Breaker,
  type BreakerChange,
  type BreakerQuestion,
  type BreakerRef,
  type BreakerStore,
  type EventMark,
  LIMIT_OF_REASON,
  type StoredBreaker,
} from '@agentlens/guardrails';
import type { TenantSettingsCache } from '../settings/tenant-settings-cache.ts';
import type { BreakerRecorder } from './breaker-recorder.ts';
import { type OpenBreakers, recordKey } from './breakers.repository.ts';
import type { ClosedBreakers } from './closed-breakers.ts';

/** So many writers at once may overtake one before it gives up; each time somebody got ahead. */
const MOST_ATTEMPTS = 50;
/** Whoever changed a breaker records that himself; after so long he has not lived to. */
const UNRECORDED_MS = 5_000;

export interface Revision {
  readonly ref: BreakerRef;
  readonly from: StoredBreaker;
  readonly to: Breaker;
  /** What it was judged by; null: nothing that could have opened it. */
  readonly limits?: BreakerLimits | null;
}

interface BreakerTransactionsDependencies {
  readonly store: BreakerStore;
  readonly open: Pick<TenantSettingsCache<OpenBreakers>, 'of'>;
  readonly recorder: Pick<BreakerRecorder, 'record'>;
  readonly now: () => number;
  /** Told of every agent whose breakers this instance has changed. */
  readonly closed?: Pick<ClosedBreakers, 'forget'>;
}

/**
 * Reads breakers, has them worked on by pure code, and writes what came of it if nobody was quicker, else begins again.
 * What changes its state goes to the record; so does a change that somebody made and did not live to record.
 */
export class BreakerTransactions {
  readonly #parts: BreakerTransactionsDependencies;

  constructor(parts: BreakerTransactionsDependencies) {
    this.#parts = parts;
  }

  /** @throws StateUnavailable */
  async revise<T>(
    question: BreakerQuestion,
    work: (
      breakers: readonly StoredBreaker[],
      counted: readonly number[],
    ) => {
      readonly revisions: readonly Revision[];
      /** Counted with the revisions. */
      readonly events?: readonly EventMark[];
      readonly answer: T;
    },
  ): Promise<T> {
    const { tenantId, agentId } = question;
    const { adding: _, ...again } = question;
    for (let attempt = 1; ; attempt++) {
      const read = await this.#parts.store.read(attempt === 1 ? question : again);
      const breakers = read.breakers.map((one, at) => this.#recovered(tenantId, question.refs[at], one));
      const { revisions, events, answer } = work(breakers, read.counted);
      this.#recordAgain(question, breakers);
      if (revisions.length === 0) return answer;
      const changes = revisions.map((revision) => this.#changeOf(revision));
      if (await this.#parts.store.write(tenantId, agentId, changes, events)) {
        this.#parts.closed?.forget(tenantId, agentId);
        this.#record(tenantId, agentId, revisions, changes);
        return answer;
      }
      if (attempt >= MOST_ATTEMPTS) throw new Error(`breakers of agent ${agentId} are written too often to be changed`);
    }
  }

  /** What the store lost, from the record. */
  #recovered(tenantId: string, ref: BreakerRef | undefined, stored: StoredBreaker): StoredBreaker {
    if (stored.revision > 0 || ref === undefined) return stored;
    const recorded = this.#parts.open.of(tenantId)?.get(recordKey(ref));
    if (recorded === undefined) return stored;
    const { state, version } = recorded;
    return { ...stored, breaker: { ...stored.breaker, state }, version, recordedVersion: version };
  }

  #changeOf({ ref, from, to }: Revision): BreakerChange {
    const changed = from.breaker.state !== to.state;
    return {
      ref,
      revision: from.revision,
      breaker: to,
      version: changed ? nextVersion(from.version, this.#parts.now()) : from.version,
      forgetAsked: changed && to.state.kind === 'closed',
    };
  }

  #record(tenantId: string, agentId: string, revisions: readonly Revision[], changes: readonly BreakerChange[]): void {
    revisions.forEach(({ ref, from, to, limits }, at) => {
      const version = changes[at]?.version ?? 0;
      if (version <= from.version) return;
      this.#parts.recorder.record({ tenantId, agentId, ref, state: to.state, version, ...passed(to.state, limits) });
    });
  }

  #recordAgain({ tenantId, agentId, refs }: BreakerQuestion, breakers: readonly StoredBreaker[]): void {
    breakers.forEach(({ breaker, version, recordedVersion }, at) => {
      const ref = refs[at];
      if (ref === undefined || version <= recordedVersion) return;
      if (this.#parts.now() - version * 1000 < UNRECORDED_MS) return;
      this.#parts.recorder.record({ tenantId, agentId, ref, state: breaker.state, version });
    });
  }
}

/** Which limit an open breaker was over. */
function passed(state: BreakerState, limits: BreakerLimits | null | undefined): { readonly limit?: number } {
  const name = state.kind === 'open' ? LIMIT_OF_REASON[state.reason] : null;
  const limit = name === null ? null : limits?.[name];
  return limit == null ? {} : { limit };
}

/** Also rises over a loss of the store: seconds since 1970 are ahead of any number of changes. */
function nextVersion(before: number, nowMs: number): number {
  return Math.max(before + 1, Math.floor(nowMs / 1000));
}

/** The usage to judge by: events are the authority, what the agent said when asking counts until they report as much. */
export function withAsked(breaker: Breaker, asked: AskedUsage): Breaker {
  const { usage } = breaker;
  const tokens = Math.max(usage.tokens, asked.tokens);
  const costUsd = Math.max(usage.costUsd, asked.costUsd);
  return { ...breaker, usage: { ...usage, tokens, costUsd } };
}
