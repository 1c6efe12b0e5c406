import {
  type AgentEvent,
  canonicalForm,
  derivedId,
  type HashedFields,
  inPosition,
  sha256Hex,
  type TranslatedEvent,
  timeOfId,
  writeEvent,
} from '@agentlens/contracts';
import { LIMITS } from './limits.ts';
import { invalid, type Refusal } from './refusal.ts';

/** The batch of an event, as far as it determines ids and times. */
export interface Arrival {
  readonly tenantId: string;
  /** The client's Idempotency-Key. */
  readonly key: string | undefined;
  /** Arrival of the first attempt if this is a retry under an Idempotency-Key. */
  readonly receivedAtMs: number;
  /** Makes the id of an event without id and key from its position in the batch. */
  readonly ids: (position: number) => string;
}

/** An event with its identity, as it is published. */
export interface IdentifiedEvent {
  readonly event: AgentEvent;
  readonly json: string;
  /** Size of `json` in UTF-8. */
  readonly bytes: number;
}

/** The accepted times: back to the start of retention, and a little ahead. */
export interface TimeWindow {
  readonly fromMs: number;
  readonly toMs: number;
}

export function timeWindow(nowMs: number, retentionDays: number): TimeWindow {
  const DAY_MS = 86_400_000;
  const fromMs = retentionDays === 0 ? 0 : nowMs - retentionDays * DAY_MS;
  return { fromMs, toMs: nowMs + LIMITS.aheadMs };
}

function isInside({ fromMs, toMs }: TimeWindow, atMs: number): boolean {
  return atMs >= fromMs && atMs <= toMs;
}

/** A client's time outside the window is reported as an error, not corrected. */
export function wrongTime(timestamp: string | undefined, window: TimeWindow): Refusal | undefined {
  if (timestamp === undefined || isInside(window, Date.parse(timestamp))) return undefined;
  const span = `${new Date(window.fromMs).toISOString()} and ${new Date(window.toMs).toISOString()}`;
  const message = `${timestamp} is outside what is kept (between ${span}); check the clock and the unit`;
  return invalid('time', [{ path: 'timestamp', message }]);
}

/** The time that the client gives: its timestamp, or else the one inside its id. */
export function clientTime({ timestamp, clientId, retold }: TranslatedEvent, window: TimeWindow): number | undefined {
  // An event that is reported twice has two times, so neither is used.
  if (timestamp !== undefined && retold !== true) return Date.parse(timestamp);
  const inId = clientId === undefined ? undefined : timeOfId(clientId);
  // An id may look time-ordered by accident; then its time means nothing.
  return inId !== undefined && isInside(window, inId) ? inId : undefined;
}

/** What the retries of one event have in common if it has an id but no time. */
export function contentHash({ facts }: TranslatedEvent): string {
  return sha256Hex(canonicalForm({ ...facts, id: '', occurredAt: '' }));
}

/** Gives an event its id, time and hash. All three are equal on every retry that the client makes recognisable. */
export function identify(
  { clientId, facts, retold }: TranslatedEvent,
  index: number,
  atMs: number,
  arrival: Arrival,
): IdentifiedEvent | Refusal {
  const event: AgentEvent = {
    ...facts,
    id: clientId ?? ownId(index, arrival),
    occurredAt: instantOf(atMs),
    retryable: clientId !== undefined || arrival.key !== undefined,
    hash: '',
  };
  const { hash, json } = writeEvent(event, retold === true ? identityOf(event) : event);
  event.hash = hash;
  const bytes = Buffer.byteLength(json);
  if (bytes <= LIMITS.eventBytes) return { event, json, bytes };
  const message = `takes ${bytes} bytes; an event may take ${LIMITS.eventBytes}. Send large contents elsewhere and their address here`;
  return invalid('too_large', [{ path: '', message }]);
}

/** The fields that both reports of one event certainly have in common. */
function identityOf(fields: HashedFields): HashedFields {
  return { ...fields, payload: {}, metadata: {}, tags: undefined };
}

/** Events of one request often share a millisecond; their ids keep the order in which they were sent. */
function ownId(index: number, { ids, key, tenantId, receivedAtMs }: Arrival): string {
  return key === undefined ? ids(index) : inPosition(derivedId(receivedAtMs, tenantId, key, index), index);
}

/** Cache of the last formatted time, because events without their own time share that of their request. */
let newest = { atMs: Number.NaN, instant: '' };

function instantOf(atMs: number): string {
  if (newest.atMs !== atMs) newest = { atMs, instant: new Date(atMs).toISOString() };
  return newest.instant;
}
