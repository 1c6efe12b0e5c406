import { agentEvents } from '@agentlens/contracts';
import { type EventBus, readRange } from '@agentlens/messaging';
import { minuteOf } from '@agentlens/state';
import type { ClientBase } from 'pg';
import type { UnsettledMinute } from './audit-ledger.ts';

const READ_WITHIN_MS = 15_000;
const IDS_PER_STATEMENT = 5_000;
const EXAMPLES = 5;

const COUNT_MISSING = `
select count(*)::int as missing, (array_agg(i.id))[1:${EXAMPLES}] as examples
from jsonb_to_recordset($2::jsonb) as i(id text, at timestamptz, run text)
where not exists (
  select from events e where e.tenant_id = $1 and e.occurred_at = i.at and e.event_id = i.id)
and not exists (select from deleted_runs d where d.tenant_id = $1 and d.run_id = i.run)`;

interface Identity {
  readonly id: string;
  readonly at: string;
  readonly run: string;
}

export interface Missing {
  readonly count: number;
  /** Ids of some of them. */
  readonly examples: readonly string[];
}

/**
 * Reads the messages of a minute and looks for the row of each event: expensive but exact.
 *
 * @throws if the stream does not deliver them in time
 */
export async function missingEvents(bus: EventBus, client: ClientBase, minute: UnsettledMinute): Promise<Missing> {
  const identities = await readIdentities(bus, minute);
  const found = { count: 0, examples: [] as string[] };
  for (let from = 0; from < identities.length; from += IDS_PER_STATEMENT) {
    const part = JSON.stringify(identities.slice(from, from + IDS_PER_STATEMENT));
    const { rows } = await client.query<{ missing: number; examples: string[] | null }>(COUNT_MISSING, [
      minute.tenantId,
      part,
    ]);
    found.count += rows[0]?.missing ?? 0;
    found.examples.push(...(rows[0]?.examples ?? []));
  }
  return { count: found.count, examples: found.examples.slice(0, EXAMPLES) };
}

/** Each event once, even if it is in several messages. */
async function readIdentities(bus: EventBus, minute: UnsettledMinute): Promise<readonly Identity[]> {
  const { tenantId, firstSequence, lastSequence } = minute;
  const wanted = Date.parse(minute.minute);
  const identities = new Map<string, Identity>();
  const range = { tenantId, after: firstSequence - 1, upTo: lastSequence, withinMs: READ_WITHIN_MS };
  await readRange(bus, agentEvents, range, ({ value }) => {
    if (minuteOf(Date.parse(value.receivedAt)) !== wanted) return;
    for (const { id, occurredAt, runId } of value.events) {
      identities.set(`${occurredAt} ${id}`, { id, at: occurredAt, run: runId });
    }
  });
  return [...identities.values()];
}
