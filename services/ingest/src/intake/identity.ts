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

/** The batch an event came in, as far as it decides ids and times. */
export interface Arrival {
  readonly tenantId: string;
  /** The client's Idempotency-Key. */
  readonly key: string | undefined;
  /** Of the first attempt, where this is a retry under an Idempotency-Key. */
  readonly receivedAtMs: number;
  /** Makes the ids of events that come without id and key, by their place in the batch. */
  readonly ids: (position: number) => string;
}

/** An event with its identity, as it goes on the wire. */
export interface IdentifiedEvent {
  readonly event: AgentEvent;
  readonly json: string;
  /** Of `json` in UTF-8. */
  readonly bytes: number;
}

/** What times are believed: retention back, a little ahead. */
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

/** A client's time outside the window is a mistake to be told about, not to be bent. */
export function wrongTime(timestamp: string | undefined, window: TimeWindow): Refusal | undefined {
  if (timestamp === undefined || isInside(window, Date.parse(timestamp))) return undefined;
  const span = `${new Date(window.fromMs).toISOString()} and ${new Date(window.toMs).toISOString()}`;
  const message = `${timestamp} is outside what is kept (between ${span}); check the clock and the unit`;
  return invalid('time', [{ path: 'timestamp', message }]);
}

/** The time a client vouches for: its timestamp, else the one inside its id. */
export function clientTime({ timestamp, clientId, retold }: TranslatedEvent, window: TimeWindow): number | undefined {
  // What is told twice is told with two times, so neither is the event's.
  if (timestamp !== undefined && retold !== true) return Date.parse(timestamp);
  const inId = clientId === undefined ? undefined : timeOfId(clientId);
  // An id may look time-ordered by accident; then its time means nothing.
  return inId !== undefined && isInside(window, inId) ? inId : undefined;
}

/** What the retries of one event have in common when it has an id but no time. */
export function contentHash({ facts }: TranslatedEvent): string {
  return sha256Hex(canonicalForm({ ...facts, id: '', occurredAt: '' }));
}

/** Gives an event its id, time and hash; all three are equal on every retry the client makes recognisable. */
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

/** Both tellings of one event have this in common, and nothing else for sure. */
function identityOf(fields: HashedFields): HashedFields {
  return { ...fields, payload: {}, metadata: {}, tags: undefined };
}

/** Events of one request often share a millisecond; their ids keep the order they were sent in. */
function ownId(index: number, { ids, key, tenantId, receivedAtMs }: Arrival): string {
  return key === undefined ? ids(index) : inPosition(derivedId(receivedAtMs, tenantId, key, index), index);
}

/** Events without a time of their own have that of their request. */
let newest = { atMs: Number.NaN, instant: '' };

function instantOf(atMs: number): string {
  if (newest.atMs !== atMs) newest = { atMs, instant: new Date(atMs).toISOString() };
  return newest.instant;
}
