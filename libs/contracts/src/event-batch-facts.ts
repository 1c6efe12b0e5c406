const EVENTS = 'agentlens-events';
const DAYS = 'agentlens-days';
const COUNT = /^[1-9]\d{0,8}$/;
const DAY_LIST = /^\d{4}-\d\d-\d\d(,\d{4}-\d\d-\d\d)*$/;
const DAY_CHARS = 10;

/** What is said of a batch in the headers of its message, so that a reader who only hands it on need not parse it. */
export interface EventBatchFacts {
  readonly events: number;
  /** UTC days its events happened on (`2026-03-01`), sorted. */
  readonly days: readonly string[];
}

/** The headers of a batch: `agentlens-events: 2`, `agentlens-days: 2026-03-01,2026-03-02`. */
export function eventBatchHeaders(batch: {
  readonly events: readonly { readonly occurredAt: string }[];
}): Readonly<Record<string, string>> {
  const { events } = batch;
  const days = new Set<string>();
  for (const { occurredAt } of events) days.add(occurredAt.slice(0, DAY_CHARS));
  return { [EVENTS]: String(events.length), [DAYS]: [...days].sort().join(',') };
}

/** Undefined where the headers do not say, or not in this form: then only the batch itself knows. */
export function eventBatchFacts(headers: Readonly<Record<string, string>>): EventBatchFacts | undefined {
  const { [EVENTS]: events = '', [DAYS]: days = '' } = headers;
  if (!COUNT.test(events) || !DAY_LIST.test(days)) return undefined;
  return { events: Number(events), days: days.split(',') };
}
