import {
  canonicalJson,
  type PriceBook,
  type ProblemDetail,
  sha256Hex,
  type TranslatedEvent,
  translateAgentLensEvent,
} from '@agentlens/contracts';
import type { IdempotencyStore } from '@agentlens/state';
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
import { conflict, invalid, type Refusal } from './refusal.ts';
import { sanitise } from './sanitise.ts';

/** One request's events as they arrived. */
export interface Delivery {
  readonly tenantId: string;
  readonly events: readonly unknown[];
  readonly key: string | undefined;
  readonly nowMs: number;
}

/** What became of each event, in request order. */
export type Verdict =
  | ({ readonly ok: true; readonly repeated: boolean } & IdentifiedEvent)
  | { readonly ok: false; readonly refusal: Refusal };

export type Intake =
  | { readonly kind: 'judged'; readonly arrival: Arrival; readonly verdicts: readonly Verdict[] }
  /** The Idempotency-Key is known with another body. */
  | { readonly kind: 'key_reused' };

type Read = { readonly ok: true; readonly event: TranslatedEvent } | { readonly ok: false; readonly refusal: Refusal };

/** Reads, checks and identifies a request's events; publishes nothing. */
export class EventIntake {
  constructor(
    private readonly memory: IdempotencyStore,
    private readonly prices: PriceBook,
    private readonly retentionDays: number,
    /** Knowing other contents of an id is a service to clients, not a condition of taking events. */
    private readonly onMemoryLost: (error: unknown) => void,
  ) {}

  async judge(delivery: Delivery): Promise<Intake> {
    const window = timeWindow(delivery.nowMs, this.retentionDays);
    const safety = delivery.events.map(sanitise);
    const receivedAtMs = await this.#firstArrival(delivery, safety);
    if (receivedAtMs === undefined) return { kind: 'key_reused' };
    const arrival = { tenantId: delivery.tenantId, key: delivery.key, receivedAtMs };
    const read = delivery.events.map((raw, index) => this.#read(raw, safety[index], delivery, window));
    const times = await this.#times(read, arrival, window);
    const verdicts = read.map((event, index) => identified(event, index, times[index] ?? receivedAtMs, arrival));
    return { kind: 'judged', arrival, verdicts: await this.#withoutConflicts(verdicts, read, arrival) };
  }

  /** Arrival of the first attempt under this key; undefined where that attempt had another body. */
  async #firstArrival(delivery: Delivery, safety: readonly (ProblemDetail | undefined)[]): Promise<number | undefined> {
    const { tenantId, key, events, nowMs } = delivery;
    if (key === undefined) return nowMs;
    const texts = events.map((event, index) => (safety[index] === undefined ? canonicalJson(event) : 'refused'));
    const bodyHash = sha256Hex(texts.join('\n'));
    const known = await this.memory.remember(tenantId, `request:${key}`, { bodyHash, receivedAtMs: nowMs });
    return known.bodyHash === bodyHash ? known.receivedAtMs : undefined;
  }

  #read(raw: unknown, unsafe: ProblemDetail | undefined, { tenantId, nowMs }: Delivery, window: TimeWindow): Read {
    if (unsafe !== undefined) return refused(invalid('malformed', [unsafe]));
    const foreign = foreignTenant(raw, tenantId);
    if (foreign !== undefined) return refused(invalid('invalid', [foreign]));
    const translation = translateAgentLensEvent(raw, this.prices, nowMs);
    if (!translation.ok) return refused(invalid('invalid', translation.details));
    const late = wrongTime(translation.event.timestamp, window);
    return late === undefined ? { ok: true, event: translation.event } : refused(late);
  }

  /**
   * When each event happened. One that has an id without a time and no timestamp is dated with its first arrival,
   * which has to be remembered: its retry must be the same event. Rare, so it may cost a look-up each.
   */
  async #times(read: readonly Read[], arrival: Arrival, window: TimeWindow): Promise<readonly number[]> {
    const times = read.map((one) => (one.ok ? clientTime(one.event, window) : undefined) ?? arrival.receivedAtMs);
    const undated = read.flatMap((one, index) =>
      one.ok && one.event.clientId !== undefined && clientTime(one.event, window) === undefined
        ? [{ index, event: one.event, id: one.event.clientId }]
        : [],
    );
    await Promise.all(
      undated.map(async ({ index, event, id }) => {
        const request = { bodyHash: contentHash(event), receivedAtMs: arrival.receivedAtMs };
        times[index] = (await this.memory.remember(arrival.tenantId, `event:${id}`, request)).receivedAtMs;
      }),
    );
    return times;
  }

  /** An id stands for one content: within the request, and as far as the platform remembers. */
  async #withoutConflicts(
    verdicts: readonly Verdict[],
    read: readonly Read[],
    { tenantId }: Arrival,
  ): Promise<readonly Verdict[]> {
    const firstHash = new Map<string, string>();
    const judged = verdicts.map((verdict, index): Verdict => {
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

function identified(read: Read, index: number, atMs: number, arrival: Arrival): Verdict {
  if (!read.ok) return read;
  const result = identify(read.event, index, atMs, arrival);
  return 'reason' in result ? refused(result) : { ok: true, repeated: false, ...result };
}

/** The tenant comes from the key; naming another one is a mistake worth hearing of. */
function foreignTenant(raw: unknown, tenantId: string): ProblemDetail | undefined {
  const named = (raw as { tenantId?: unknown } | null)?.tenantId;
  if (named === undefined || named === null || named === tenantId) return undefined;
  return { path: 'tenantId', message: 'is not the tenant of this API key; leave it out, the key decides' };
}
