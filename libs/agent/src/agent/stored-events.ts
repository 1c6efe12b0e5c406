import type { AgentEvent } from '../core/agent-event.ts';
import { type Json, toJson } from '../core/json.ts';
import { redactStored } from '../core/redact.ts';
import type { DatabaseClient } from '../memory/database-client.ts';

const COLLECTION = 'agent-events';
const PER_DOCUMENT = 200;

/** Location of a result's events: documents with this key prefix in the collection `agent-events`, in key order. */
export function eventsPointer(runId: string): string {
  return `${COLLECTION}/${runId}/`;
}

/** Stores the events of a run, without secrets and text deltas. */
export async function storeEvents(
  database: DatabaseClient,
  runId: string,
  events: readonly AgentEvent[],
): Promise<void> {
  const kept = events.filter(({ type }) => type !== 'text-delta' && type !== 'thinking-delta');
  for (let from = 0; from < kept.length; from += PER_DOCUMENT) {
    const page = String(from / PER_DOCUMENT + 1).padStart(6, '0');
    const value: Json = {
      schema_version: 1,
      events: toJson(redactStored(kept.slice(from, from + PER_DOCUMENT)), Number.POSITIVE_INFINITY),
    };
    await database.write(COLLECTION, `${runId}/${page}`, value);
  }
}
