import { canonicalJson, idSeries, type ProblemDetail, sha256Hex, type TranslatedEvent } from '@agentlens/contracts';
import type { RunOwners } from '@agentlens/decisions';
import { mapInSlices } from '@agentlens/platform';
import { type IdempotencyStore, StateUnavailable } from '@agentlens/state';
import { AGENTLENS, type Dialect, redated, type TenantPrices } from './dialect.ts';
import {
  type Arrival,
  clientTime,
  contentHash,
  type IdentifiedEvent,
  identify,
  type TimeWindow,
  timeWindow,
  wrongTime,
} from './identity.ts';
import { conflict, invalid, otherAgent, otherAgentsRun, type Refusal } from './refusal.ts';
import { RunMomentDeduplicator } from './run-moments.ts';
import { FOREIGN_PARENT, parentIn, type RunParents, withoutParent } from './run-parents.ts';
import { type Sanitised, sanitise } from './sanitise.ts';

/** The events of one request as they arrived. */
interface IntakeRequest {
  readonly tenantId: string;
  /** The agents that the key is bound to. If absent, events of every agent are accepted. */
  readonly agents?: readonly string[];
  readonly events: readonly unknown[];
  readonly key: string | undefined;
  readonly nowMs: number;
  /** The vocabulary of the events; AgentLens by default. */
  readonly dialect?: Dialect;
}

/** The result for each event, in request order. */
export type IntakeVerdict =
  | ({ readonly ok: true; readonly repeated: boolean; readonly notices?: readonly ProblemDetail[] } & IdentifiedEvent)
  | { readonly ok: false; readonly refusal: Refusal };

export type Intake =
  | { readonly kind: 'judged'; readonly arrival: Arrival; readonly verdicts: readonly IntakeVerdict[] }
  /** The Idempotency-Key is known with another body. */
  | { readonly kind: 'key_reused' };

type Read =
  | { readonly ok: true; readonly event: TranslatedEvent; readonly notices?: readonly ProblemDetail[] }
  | { readonly ok: false; readonly refusal: Refusal };

/** Reads, checks and identifies the events of a request. Publishes nothing. */
export class EventIntake {
  readonly #moments: RunMomentDeduplicator;

  constructor(
    private readonly memory: IdempotencyStore,
    private readonly prices: TenantPrices,
    private readonly retentionDays: number,
    /** Called if the state store fails. Detecting reused ids helps clients, but is not required to accept events. */
    private readonly onMemoryLost: (error: unknown) => void,
    private readonly owners: RunOwners,
    private readonly parents: RunParents,
  ) {
    this.#moments = new RunMomentDeduplicator(memory, onMemoryLost);
  }

  async judge(delivery: IntakeRequest): Promise<Intake> {
    const window = timeWindow(delivery.nowMs, this.retentionDays);
    const safety = await mapInSlices(delivery.events, sanitise);
    const receivedAtMs = await this.#firstArrival(delivery, safety);
    if (receivedAtMs === undefined) return { kind: 'key_reused' };
    const arrival = arrivalOf(delivery.tenantId, delivery.key, receivedAtMs);
    const readable = await mapInSlices(delivery.events, (raw, index) =>
      this.#read(raw, safety[index], delivery, window),
    );
    const read = await this.#ownParentsOnly(await this.#ownRunsOnly(readable, delivery), delivery);
    const isTolerant = delivery.dialect?.wrongTime === 'redate';
    const times = await this.#times(read, arrival, window, isTolerant);
    const identifiedEvents = await mapInSlices(read, (event, index) =>
      identified(event, index, times[index] ?? receivedAtMs, arrival),
    );
    const verdicts = await this.#mergedMoments(identifiedEvents, read, arrival);
    return { kind: 'judged', arrival, verdicts: await this.#withoutConflicts(verdicts, read, arrival) };
  }

  /** Judges one event that the gateway made from a call; its texts are already sanitised. */
  async judgeOwn(
    tenantId: string,
    event: TranslatedEvent,
    nowMs: number,
  ): Promise<{ arrival: Arrival; verdict: IntakeVerdict }> {
    const arrival = arrivalOf(tenantId, undefined, nowMs);
    const read: Read = { ok: true, event };
    const { kind, runId, agentId } = event.facts;
    if (kind === 'run.started') await this.owners.claimIfKnown(tenantId, runId, agentId);
    const [atMs = nowMs] = await this.#times([read], arrival, timeWindow(nowMs, this.retentionDays), true);
    const identifiedEvent = identified(read, 0, atMs, arrival);
    const [verdict = identifiedEvent] = await this.#mergedMoments([identifiedEvent], [read], arrival);
    return { arrival, verdict };
  }

  /** Rejects events in runs of other agents if the key is bound. @throws StateUnavailable */
  async #ownRunsOnly(read: readonly Read[], { tenantId, agents }: IntakeRequest): Promise<readonly Read[]> {
    const firstAgents = new Map<string, string>();
    for (const one of read) {
      if (!one.ok) continue;
      const { runId, agentId } = one.event.facts;
      if (!firstAgents.has(runId)) firstAgents.set(runId, agentId);
    }
    if (agents === undefined) {
      for (const [runId, agentId] of firstAgents) void this.owners.claimIfKnown(tenantId, runId, agentId);
      return read;
    }
    const foreign = new Set<string>();
    await Promise.all(
      Array.from(firstAgents, async ([runId, agentId]) => {
        if (!agents.includes(await this.owners.claim(tenantId, runId, agentId))) foreign.add(runId);
      }),
    );
    if (foreign.size === 0) return read;
    return read.map((one) => (one.ok && foreign.has(one.event.facts.runId) ? refused(otherAgentsRun(agents)) : one));
  }

  /** Leaves out parents that do not count for a bound key, and remembers those that count. */
  async #ownParentsOnly(read: readonly Read[], { tenantId, agents }: IntakeRequest): Promise<readonly Read[]> {
    if (!read.some((one) => one.ok && parentIn(one.event) !== undefined)) return read;
    const counted = new Map<string, Promise<boolean>>();
    return Promise.all(
      read.map(async (one): Promise<Read> => {
        const parentRunId = one.ok ? parentIn(one.event) : undefined;
        if (!one.ok || parentRunId === undefined) return one;
        const named = { tenantId, runId: one.event.facts.runId, parentRunId };
        const key = JSON.stringify([named.runId, parentRunId]);
        const counts = counted.get(key) ?? this.parents.counts(named, agents);
        counted.set(key, counts);
        if (!(await counts)) {
          return { ...one, event: withoutParent(one.event), notices: [...(one.notices ?? []), FOREIGN_PARENT] };
        }
        if (one.event.facts.kind === 'run.started') await this.parents.note(named);
        return one;
      }),
    );
  }

  /** Arrival of the first attempt under this key; undefined if that attempt had another body. */
  async #firstArrival(delivery: IntakeRequest, safety: readonly Sanitised[]): Promise<number | undefined> {
    const { tenantId, key, events, nowMs } = delivery;
    if (key === undefined) return nowMs;
    const texts = await mapInSlices(events, (event, index) =>
      safety[index]?.problem === undefined ? canonicalJson(event) : 'refused',
    );
    const bodyHash = sha256Hex(texts.join('\n'));
    const known = await this.memory.remember(tenantId, `request:${key}`, { bodyHash, receivedAtMs: nowMs });
    return known.bodyHash === bodyHash ? known.receivedAtMs : undefined;
  }

  #read(raw: unknown, sanitised: Sanitised | undefined, delivery: IntakeRequest, window: TimeWindow): Read {
    const { tenantId, agents, nowMs, dialect = AGENTLENS } = delivery;
    const { problem, repaired = [] } = sanitised ?? {};
    if (problem !== undefined) return refused(invalid('malformed', [problem]));
    const foreign = foreignTenant(raw, tenantId);
    if (foreign !== undefined) return refused(invalid('invalid', [foreign]));
    const translated = dialect.translate(raw, this.prices.of(tenantId), nowMs);
    const translation =
      translated.ok && repaired.length > 0
        ? { ...translated, notices: [...repaired, ...(translated.notices ?? [])] }
        : translated;
    if (!translation.ok) return refused(invalid('invalid', translation.details));
    if (agents?.includes(translation.event.facts.agentId) === false) return refused(otherAgent(agents));
    const late = wrongTime(translation.event.timestamp, window);
    if (late === undefined) return translation;
    return dialect.wrongTime === 'refuse' ? refused(late) : { ...translation, event: redated(translation.event) };
  }

  /**
   * When each event happened. An event with an id but without any time is dated with its first arrival. That has to be
   * stored, because a retry must be the same event. It is rare, so a lookup per event is acceptable.
   */
  async #times(
    read: readonly Read[],
    arrival: Arrival,
    window: TimeWindow,
    isTolerant: boolean,
  ): Promise<readonly number[]> {
    const undated: { readonly index: number; readonly event: TranslatedEvent; readonly id: string }[] = [];
    const times = read.map((one, index) => {
      const atMs = one.ok ? clientTime(one.event, window) : undefined;
      if (one.ok && atMs === undefined && one.event.clientId !== undefined) {
        undated.push({ index, event: one.event, id: one.event.clientId });
      }
      return atMs ?? arrival.receivedAtMs;
    });
    if (undated.length === 0) return times;
    await Promise.all(
      undated.map(async ({ index, event, id }) => {
        times[index] = await this.#firstTime(arrival, id, event, isTolerant);
      }),
    );
    return times;
  }

  /**
   * If the store is unavailable, a tolerant dialect continues: its clients drop rejected events, and an event with two
   * dates is better than a lost one.
   */
  async #firstTime(arrival: Arrival, id: string, event: TranslatedEvent, isTolerant: boolean): Promise<number> {
    const receivedAtMs = event.timestamp === undefined ? arrival.receivedAtMs : Date.parse(event.timestamp);
    try {
      const request = { bodyHash: contentHash(event), receivedAtMs };
      return (await this.memory.remember(arrival.tenantId, `event:${id}`, request)).receivedAtMs;
    } catch (error) {
      if (!isTolerant || !(error instanceof StateUnavailable)) throw error;
      this.onMemoryLost(error);
      return receivedAtMs;
    }
  }

  /** Merges starts and ends of runs that both a call and the session report. They are rare. */
  async #mergedMoments(
    verdicts: readonly IntakeVerdict[],
    read: readonly Read[],
    { tenantId }: Arrival,
  ): Promise<readonly IntakeVerdict[]> {
    if (!read.some((one) => one.ok && one.event.momentId !== undefined)) return verdicts;
    return Promise.all(
      verdicts.map(async (verdict, index): Promise<IntakeVerdict> => {
        const one = read[index];
        if (!verdict.ok || one?.ok !== true || one.event.momentId === undefined) return verdict;
        return { ...verdict, ...(await this.#moments.kept(tenantId, one.event.momentId, verdict)) };
      }),
    );
  }

  /** An id stands for one content, within the request and as far as the platform remembers. */
  async #withoutConflicts(
    verdicts: readonly IntakeVerdict[],
    read: readonly Read[],
    { tenantId }: Arrival,
  ): Promise<readonly IntakeVerdict[]> {
    if (!read.some((one) => one.ok && one.event.clientId !== undefined)) return verdicts;
    const firstHash = new Map<string, string>();
    const judged = verdicts.map((verdict, index): IntakeVerdict => {
      const one = read[index];
      if (!verdict.ok || one?.ok !== true || one.event.clientId === undefined) return verdict;
      const { id, hash } = verdict.event;
      const known = firstHash.get(id);
      if (known === undefined) firstHash.set(id, hash);
      if (known !== undefined && known !== hash) return refused(conflict(id));
      return { ...verdict, repeated: known !== undefined };
    });
    if (firstHash.size === 0) return judged;
    const reused = await this.#reusedIds(tenantId, firstHash);
    if (reused.size === 0) return judged;
    return judged.map((one) => (one.ok && reused.has(one.event.id) ? refused(conflict(one.event.id)) : one));
  }

  async #reusedIds(tenantId: string, hashes: ReadonlyMap<string, string>): Promise<ReadonlySet<string>> {
    const events = [...hashes].map(([id, hash]) => ({ id, hash }));
    try {
      return new Set(await this.memory.conflicts(tenantId, events));
    } catch (error) {
      this.onMemoryLost(error);
      return new Set();
    }
  }
}

function refused(refusal: Refusal): { readonly ok: false; readonly refusal: Refusal } {
  return { ok: false, refusal };
}

function identified(read: Read, index: number, atMs: number, arrival: Arrival): IntakeVerdict {
  if (!read.ok) return read;
  const result = identify(read.event, index, atMs, arrival);
  if ('reason' in result) return refused(result);
  const { event, json, bytes } = result;
  return { ok: true, repeated: false, notices: read.notices, event, json, bytes };
}

function arrivalOf(tenantId: string, key: string | undefined, receivedAtMs: number): Arrival {
  return { tenantId, key, receivedAtMs, ids: idSeries(receivedAtMs) };
}

/** The tenant comes from the key. Naming another tenant is reported as an error. */
function foreignTenant(raw: unknown, tenantId: string): ProblemDetail | undefined {
  const named = (raw as { tenantId?: unknown } | null)?.tenantId;
  if (named === undefined || named === null || named === tenantId) return undefined;
  return { path: 'tenantId', message: 'is not the tenant of this API key; leave it out, the key decides' };
}
