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
import type { TenantSettingsCache } from '@agentlens/platform';
import type { BreakerRecorder } from './breaker-recorder.ts';
import { type OpenBreakers, recordKey } from './breakers.repository.ts';
import type { ClosedBreakers } from './closed-breakers.ts';
import type { DueBreakers } from './due-breakers.ts';

/** Number of write conflicts after which a writer gives up. Each conflict means that another writer succeeded. */
const MAX_ATTEMPTS = 50;
/**
 * The instance that changes a breaker also records the change. If the change is still unrecorded after this time, that
 * instance has crashed.
 */
const UNRECORDED_MS = 5_000;

export interface Revision {
  readonly ref: BreakerRef;
  readonly from: StoredBreaker;
  readonly to: Breaker;
  /** The limits that were applied; null if no limit could have opened the breaker. */
  readonly limits?: BreakerLimits | null;
  /** The agent whose usage led to the change; by default that of the question. */
  readonly agentId?: string | undefined;
}

interface BreakerTransactionsDependencies {
  readonly store: BreakerStore;
  readonly open: Pick<TenantSettingsCache<OpenBreakers>, 'of'>;
  readonly recorder: Pick<BreakerRecorder, 'record'>;
  readonly now: () => number;
  /** Cache to invalidate for every agent whose breakers this instance changes. */
  readonly closed?: Pick<ClosedBreakers, 'forget'>;
  readonly due?: Pick<DueBreakers, 'report'>;
}

/**
 * Optimistic transactions on breakers: reads breakers, runs pure code on them and writes the result, or starts again if
 * another writer was faster. State changes go to the record. A change that another instance made but crashed before
 * recording is recorded too.
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
      /** Counted together with the revisions. */
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
      if (revisions.length === 0) {
        this.#parts.due?.report(question, breakers);
        return answer;
      }
      const changes = revisions.map((revision) => this.#changeOf(revision));
      if (await this.#parts.store.write(tenantId, agentId, changes, events)) {
        this.#parts.closed?.forget(tenantId, agentId);
        this.#record(tenantId, agentId, revisions, changes);
        this.#parts.due?.report(question, withRevisions(question, breakers, revisions));
        return answer;
      }
      if (attempt >= MAX_ATTEMPTS) throw new Error(`breakers of agent ${agentId} are written too often to be changed`);
    }
  }

  /** Restores from the record what the store lost. */
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
    revisions.forEach(({ ref, from, to, limits, agentId: by = agentId }, at) => {
      const version = changes[at]?.version ?? 0;
      if (version <= from.version) return;
      this.#parts.recorder.record({
        tenantId,
        agentId: by,
        ref,
        state: to.state,
        version,
        ...passed(to.state, limits),
      });
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

function withRevisions(
  { refs }: BreakerQuestion,
  breakers: readonly StoredBreaker[],
  revisions: readonly Revision[],
): readonly Pick<StoredBreaker, 'breaker' | 'asked'>[] {
  const changed = new Map(revisions.map(({ ref, to }) => [recordKey(ref), to]));
  return breakers.map(({ breaker, asked }, at) => {
    const ref = refs[at];
    return { breaker: (ref && changed.get(recordKey(ref))) ?? breaker, asked };
  });
}

/** The limit that an open breaker exceeded. */
function passed(state: BreakerState, limits: BreakerLimits | null | undefined): { readonly limit?: number } {
  const name = state.kind === 'open' ? LIMIT_OF_REASON[state.reason] : null;
  const limit = name === null ? null : limits?.[name];
  return limit == null ? {} : { limit };
}

/**
 * Versions keep rising even if the store loses its data, because seconds since 1970 are ahead of any number of changes.
 */
function nextVersion(before: number, nowMs: number): number {
  return Math.max(before + 1, Math.floor(nowMs / 1000));
}

/**
 * The usage to judge by. Events are authoritative; usage that the agent reported in a question counts until its events
 * report as much.
 */
export function withAsked(breaker: Breaker, asked: AskedUsage): Breaker {
  const { usage } = breaker;
  const tokens = Math.max(usage.tokens, asked.tokens);
  const costUsd = Math.max(usage.costUsd, asked.costUsd);
  return { ...breaker, usage: { ...usage, tokens, costUsd } };
}
