const EVENTS = 'agentlens-events';
const DAYS = 'agentlens-days';
const RECEIVED_AT = 'agentlens-received-at';
const COUNT = /^[1-9]\d{0,8}$/;
const DAY_LIST = /^\d{4}-\d\d-\d\d(,\d{4}-\d\d-\d\d)*$/;
const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const DAY_CHARS = 10;

/** Facts about a batch in the headers of its message, so that a reader that only passes it on need not parse it. */
export interface EventBatchFacts {
  readonly events: number;
  /** UTC days on which its events occurred (`2026-03-01`), sorted. */
  readonly days: readonly string[];
  /** When the platform accepted it (`receivedAt` of the batch). */
  readonly receivedAt: string;
}

interface DatedEvent {
  readonly occurredAt: string;
}

interface DatedBatch {
  readonly receivedAt: string;
  readonly events: readonly DatedEvent[];
}

/** Computes the facts of a batch. */
export function factsOfBatch({ events, receivedAt }: DatedBatch): EventBatchFacts {
  const days = new Set<string>();
  addDays(days, events);
  return { events: events.length, days: [...days].sort(), receivedAt };
}

/** Adds the UTC days on which these events occurred. */
export function addDays(days: Set<string>, events: readonly DatedEvent[]): void {
  let day = '';
  for (const { occurredAt } of events) {
    if (occurredAt.startsWith(day) && day !== '') continue;
    day = occurredAt.slice(0, DAY_CHARS);
    days.add(day);
  }
}

/**
 * Encodes facts as headers: `agentlens-events: 2`, `agentlens-days: 2026-03-01,2026-03-02`, `agentlens-received-at:
 * 2026-...Z`.
 */
export function eventBatchHeaders({ events, days, receivedAt }: EventBatchFacts): Readonly<Record<string, string>> {
  return { [EVENTS]: String(events), [DAYS]: days.join(','), [RECEIVED_AT]: receivedAt };
}

/** Decodes the headers. Returns undefined if they are absent or malformed; then only the batch has the facts. */
export function eventBatchFacts(headers: Readonly<Record<string, string>>): EventBatchFacts | undefined {
  const { [EVENTS]: events = '', [DAYS]: days = '', [RECEIVED_AT]: receivedAt = '' } = headers;
  if (!COUNT.test(events) || !DAY_LIST.test(days) || !INSTANT.test(receivedAt)) return undefined;
  return { events: Number(events), days: days.split(','), receivedAt };
}

/** A message of events whose value may be parsed lazily. */
interface EventsMessage {
  readonly headers: Readonly<Record<string, string>>;
  readonly value: Pick<DatedBatch, 'events'>;
}

/**
 * Returns the facts from the headers, or else from the batch. Parsing the batch costs as much as most of its
 * processing.
 */
export function factsOfMessage(message: EventsMessage): Pick<EventBatchFacts, 'events' | 'days'> {
  const facts = eventBatchFacts(message.headers);
  if (facts !== undefined) return facts;
  const { events } = message.value;
  const days = new Set(events.map(({ occurredAt }) => String(occurredAt).slice(0, DAY_CHARS)));
  return { events: events.length, days: [...days] };
}
