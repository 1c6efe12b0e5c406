import type {
  AskedUsage,
  BreakerAnswers,
  BreakerChange,
  BreakerQuestion,
  BreakerRef,
  BreakerStore,
  EventMark,
  StoredBreaker,
} from '@agentlens/guardrails';
import { CLOSED_BREAKER } from '@agentlens/guardrails/ports';
import { LIFETIMES, SEEN_EPOCH_MS } from '../lifetimes.ts';
import { fingerprint } from '../windows/plan.ts';
import type { ExpiringMap } from './evicting-maps.ts';
import type { MemorySnapshots } from './memory-snapshots.ts';

const NOTHING_ASKED: AskedUsage = { tokens: 0, costUsd: 0, iterations: 0 };
const NEW_BREAKER: StoredBreaker = {
  breaker: CLOSED_BREAKER,
  asked: NOTHING_ASKED,
  revision: 0,
  version: 0,
  recordedVersion: 0,
};

/** Breakers of one process. Synchronous inside, so every call is atomic. */
export class MemoryBreakerStore implements BreakerStore {
  readonly #breakers: ExpiringMap<StoredBreaker>;
  readonly #asked: ExpiringMap<Set<string>>;
  readonly #counted: ExpiringMap<Set<string>>;
  readonly #watched: ExpiringMap<true>;

  constructor(snapshots: MemorySnapshots) {
    this.#breakers = snapshots.map('breakers');
    this.#asked = snapshots.map('asked');
    this.#counted = snapshots.map('counted');
    this.#watched = snapshots.map('watched');
  }

  async read({ tenantId, agentId, refs, adding, events = [] }: BreakerQuestion): Promise<BreakerAnswers> {
    const ref = adding === undefined ? undefined : refs[adding.at];
    if (adding !== undefined && ref !== undefined) this.#add(keyOf(tenantId, agentId, ref), ref, adding);
    return {
      breakers: refs.map((one) => this.#breakers.get(keyOf(tenantId, agentId, one)) ?? NEW_BREAKER),
      counted: events.flatMap((event, index) =>
        this.#counted.get(seenKey(tenantId, ownerOf(agentId, refs[0]), event))?.has(fingerprint(event.id))
          ? [index]
          : [],
      ),
    };
  }

  async write(
    tenantId: string,
    agentId: string,
    changes: readonly BreakerChange[],
    events: readonly EventMark[] = [],
  ): Promise<boolean> {
    const stored = changes.map(({ ref }) => this.#breakers.get(keyOf(tenantId, agentId, ref)) ?? NEW_BREAKER);
    if (changes.some(({ revision }, at) => stored[at]?.revision !== revision)) return false;
    changes.forEach(({ ref, revision, breaker, version, forgetAsked }, at) => {
      const { asked, recordedVersion } = stored[at] ?? NEW_BREAKER;
      this.#set(keyOf(tenantId, agentId, ref), ref, {
        breaker,
        asked: forgetAsked ? NOTHING_ASKED : asked,
        revision: revision + 1,
        version,
        recordedVersion,
      });
    });
    for (const event of events) {
      const key = seenKey(tenantId, ownerOf(agentId, changes[0]?.ref), event);
      this.#counted.set(key, (this.#counted.get(key) ?? new Set()).add(fingerprint(event.id)), LIFETIMES.seenEvents);
    }
    return true;
  }

  async recorded(tenantId: string, agentId: string, ref: BreakerRef, version: number): Promise<void> {
    const key = keyOf(tenantId, agentId, ref);
    const stored = this.#breakers.get(key);
    if (stored && stored.recordedVersion < version) this.#set(key, ref, { ...stored, recordedVersion: version });
  }

  async watch(tenantId: string): Promise<void> {
    this.#watched.set(tenantId, true, LIFETIMES.asking);
  }

  async watched(tenantId: string): Promise<boolean> {
    return this.#watched.get(tenantId) === true;
  }

  #add(key: string, ref: BreakerRef, { usage, once }: NonNullable<BreakerQuestion['adding']>): void {
    if (once !== undefined) {
      const names = this.#asked.get(key) ?? new Set();
      if (names.has(once)) return;
      this.#asked.set(key, names.add(once), LIFETIMES.run);
    }
    const stored = this.#breakers.get(key) ?? NEW_BREAKER;
    const asked = {
      tokens: stored.asked.tokens + usage.tokens,
      costUsd: stored.asked.costUsd + usage.costUsd,
      iterations: stored.asked.iterations + usage.iterations,
    };
    this.#set(key, ref, { ...stored, asked });
  }

  #set(key: string, { scope }: BreakerRef, stored: StoredBreaker): void {
    this.#breakers.set(key, stored, scope === 'agent' ? LIFETIMES.agentBreaker : LIFETIMES.run);
  }
}

function keyOf(tenantId: string, agentId: string, ref: BreakerRef): string {
  return JSON.stringify([tenantId, ownerOf(agentId, ref), ref.scope, ref.scopeId]);
}

/** Run trees span the agents of a tenant. No agent has an empty id. */
function ownerOf(agentId: string, ref: BreakerRef | undefined): string {
  return ref?.scope === 'tree' ? '' : agentId;
}

function seenKey(tenantId: string, owner: string, { atMs }: EventMark): string {
  return JSON.stringify([tenantId, owner, Math.floor(atMs / SEEN_EPOCH_MS)]);
}
