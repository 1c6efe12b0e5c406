import { client } from '../api/client.ts';
import type { Decision, StoredEvent } from '../api/model.ts';
import type { ReadEvents } from './event-contents.ts';
import type { RunEntry } from './use-run.ts';

const PAGE = 200;

/** The complete entry for an entry of the light timeline. */
export const readEvents: ReadEvents = async ({ runId, from, to, kinds }, enough, signal) => {
  let cursor: string | undefined;
  do {
    const page = await client.listEvents({
      query: { sessionId: runId, from, to, eventType: kinds.join(','), order: 'asc', limit: PAGE, cursor },
      signal,
    });
    if (enough(page.events)) return;
    cursor = page.nextCursor;
  } while (cursor !== undefined);
};

/** @returns undefined if it was removed in the meantime */
export async function readEvent(entry: RunEntry, signal: AbortSignal): Promise<StoredEvent | undefined> {
  let found: StoredEvent | undefined;
  const { runId, at, kind } = entry;
  await readEvents(
    { runId, from: at, to: at, kinds: kind === undefined ? [] : [kind] },
    (events) => {
      found = events.find(({ id }) => id === entry.id);
      return found !== undefined;
    },
    signal,
  );
  return found;
}

export async function readDecision({ runId, at, id }: RunEntry, signal: AbortSignal): Promise<Decision | undefined> {
  const { decisions } = await client.listDecisions({ query: { runId, from: at, to: at, limit: PAGE }, signal });
  return decisions.find((decision) => decision.id === id);
}

/** The stored object of an entry that is neither a call nor an event. */
export async function readMoment(entry: RunEntry, signal: AbortSignal): Promise<unknown> {
  const { runId, agentId, at, id } = entry;
  switch (entry.type) {
    case 'trigger': {
      const { triggers } = await client.listTriggers({ query: { agentId, from: at, to: at, limit: PAGE }, signal });
      return triggers.find((trigger) => trigger.id === id);
    }
    case 'alert':
      return client.getAlert({ params: { id }, signal });
    case 'order': {
      const { orders } = await client.listOrders({ query: { scope: 'run', id: runId }, signal });
      return orders.find((order) => order.id === id);
    }
    case 'breaker': {
      const { breakers } = await client.listBreakers({ query: { scope: 'run', agentId, limit: PAGE }, signal });
      return breakers.find(({ scopeId }) => scopeId === runId);
    }
    default:
      return undefined;
  }
}
