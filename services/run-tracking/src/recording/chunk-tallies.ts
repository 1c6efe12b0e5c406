import type { AgentEvent, EventBatch } from '@agentlens/contracts';
import { GrowingTally, type Tally } from '@agentlens/runs';

/** What makes an event the same one. */
export interface EventKey {
  readonly tenantId: string;
  readonly occurredAt: string;
  readonly id: string;
}

/** A chunk that nobody can read or count, as its text comes from the bus unseen. */
export class UnreadableChunk extends Error {
  override readonly name = 'UnreadableChunk';
}

/**
 * What the events of these batches amount to by tenant: all of them, or each of these keys once. They are read to be
 * counted and not looked into otherwise: the statement refuses what is no event.
 * @param counted is told of each event that was
 * @throws UnreadableChunk
 */
export function talliesOf(
  batches: readonly string[],
  { only, counted }: { only?: readonly EventKey[]; counted?: (batch: EventBatch, event: AgentEvent) => void } = {},
): ReadonlyMap<string, Tally> {
  const wanted = only && new Set(only.map(textOf));
  const tallies = new Map<string, GrowingTally>();
  try {
    // One after the other, so that few of them are in memory at a time.
    for (const text of batches) count(JSON.parse(text) as EventBatch, tallies, wanted, counted);
  } catch (cause) {
    throw new UnreadableChunk('a chunk cannot be read', { cause });
  }
  if (wanted && wanted.size > 0) throw new UnreadableChunk('events were stored that are not found in their chunk');
  return tallies;
}

function count(
  batch: EventBatch,
  tallies: Map<string, GrowingTally>,
  wanted?: Set<string>,
  counted?: (batch: EventBatch, event: AgentEvent) => void,
): void {
  const { tenantId, events } = batch;
  const tally = tallies.get(tenantId) ?? new GrowingTally();
  for (const event of events) {
    if (wanted && !wanted.delete(textOf({ tenantId, occurredAt: event.occurredAt, id: event.id }))) continue;
    tallies.set(tenantId, tally);
    tally.add(event);
    counted?.(batch, event);
  }
}

/** Ids hold no line breaks. */
function textOf({ tenantId, occurredAt, id }: EventKey): string {
  return `${tenantId}\n${occurredAt}\n${id}`;
}
