import { eventBatchFacts, tenantOfEvents } from '@agentlens/contracts';
import type { MessageEnvelope } from '@agentlens/messaging';
import { minuteOf } from '@agentlens/state';

/** Events that ingest published for one tenant in one minute of arrival. */
export interface MinuteTally {
  readonly tenantId: string;
  /** Start of the minute, RFC 3339. */
  readonly minute: string;
  /** Events, including duplicates. */
  readonly accepted: number;
  readonly firstSequence: number;
  readonly lastSequence: number;
}

/** Sums the counts in the headers of messages. Skips messages without a count; only ingest writes them. */
export function minuteTallies(envelopes: readonly MessageEnvelope[]): readonly MinuteTally[] {
  const tallies = new Map<string, MinuteTally>();
  for (const envelope of envelopes) {
    const one = tallyOf(envelope);
    if (one === undefined) continue;
    const key = `${one.tenantId} ${one.minute}`;
    const known = tallies.get(key);
    tallies.set(key, known === undefined ? one : joined(known, one));
  }
  return [...tallies.values()];
}

function tallyOf({ subject, sequence, headers }: MessageEnvelope): MinuteTally | undefined {
  const facts = eventBatchFacts(headers);
  if (facts === undefined) return undefined;
  const { events, receivedAt } = facts;
  const minute = new Date(minuteOf(Date.parse(receivedAt))).toISOString();
  const tenantId = tenantOfEvents(subject);
  return { tenantId, minute, accepted: events, firstSequence: sequence, lastSequence: sequence };
}

function joined(a: MinuteTally, b: MinuteTally): MinuteTally {
  return {
    tenantId: a.tenantId,
    minute: a.minute,
    accepted: a.accepted + b.accepted,
    firstSequence: Math.min(a.firstSequence, b.firstSequence),
    lastSequence: Math.max(a.lastSequence, b.lastSequence),
  };
}
