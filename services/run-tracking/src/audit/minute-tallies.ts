import { eventBatchFacts } from '@agentlens/contracts';
import type { Envelope } from '@agentlens/messaging';
import { minuteOf } from '@agentlens/state';

/** What ingest put into the stream for one tenant in one minute of arrival. */
export interface MinuteTally {
  readonly tenantId: string;
  /** When the minute began, an instant. */
  readonly minute: string;
  /** Events, one that was sent twice counted twice. */
  readonly accepted: number;
  readonly firstSequence: number;
  readonly lastSequence: number;
  /** UTC days of the events' own times. */
  readonly firstDay: string;
  readonly lastDay: string;
}

/** Adds up what the headers of messages say. A message that does not say (nobody but ingest writes them) is left out. */
export function minuteTallies(envelopes: readonly Envelope[]): readonly MinuteTally[] {
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

function tallyOf({ subject, sequence, headers }: Envelope): MinuteTally | undefined {
  const facts = eventBatchFacts(headers);
  const tenantId = subject.split('.').at(-1);
  if (facts === undefined || tenantId === undefined) return undefined;
  const { events, days, receivedAt } = facts;
  const [firstDay = '', lastDay = firstDay] = [days[0], days.at(-1)];
  const minute = new Date(minuteOf(Date.parse(receivedAt))).toISOString();
  return { tenantId, minute, accepted: events, firstSequence: sequence, lastSequence: sequence, firstDay, lastDay };
}

function joined(a: MinuteTally, b: MinuteTally): MinuteTally {
  return {
    tenantId: a.tenantId,
    minute: a.minute,
    accepted: a.accepted + b.accepted,
    firstSequence: Math.min(a.firstSequence, b.firstSequence),
    lastSequence: Math.max(a.lastSequence, b.lastSequence),
    firstDay: a.firstDay < b.firstDay ? a.firstDay : b.firstDay,
    lastDay: a.lastDay > b.lastDay ? a.lastDay : b.lastDay,
  };
}
