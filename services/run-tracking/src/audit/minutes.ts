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

/** Three independent counts of the same minute and tenant. */
export interface MinuteCounts {
  /** Events that ingest published. An event that a client sent twice can count twice. */
  readonly accepted: number;
  /** Rows in Postgres. */
  readonly stored: number;
  /** Events in messages that evaluators have finished. */
  readonly evaluated: number;
}

export interface MinuteVerdict {
  readonly notStored: number;
  readonly notEvaluated: number;
}

/**
 * Compares the counts. Each event makes at most one row, so equal counts mean that nothing is missing. Fewer rows mean
 * duplicates or missing rows; only then does `countMissing` look for each event.
 *
 * Evaluators count messages once each, so those counts compare directly.
 */
export async function judgeMinute(counts: MinuteCounts, countMissing: () => Promise<number>): Promise<MinuteVerdict> {
  const { accepted, stored, evaluated } = counts;
  return {
    notStored: stored >= accepted ? 0 : await countMissing(),
    notEvaluated: Math.max(0, accepted - evaluated),
  };
}
