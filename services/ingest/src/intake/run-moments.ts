import { type IdempotencyStore, StateUnavailable } from '@agentlens/state';
import type { IdentifiedEvent } from './identity.ts';

/**
 * Merges the start of a run, and its end, into one event if both a call and an event of the session report it. The
 * first to arrive gives id, time and hash. A call and its audit event are always that event. If no call reports a run,
 * every start and end is kept as it was sent, because a session can start and end more than once.
 */
export class RunMomentDeduplicator {
  constructor(
    private readonly memory: Pick<IdempotencyStore, 'remember'>,
    private readonly onMemoryLost: (error: unknown) => void,
  ) {}

  /**
   * Returns the event to keep; stable for 24 hours.
   *
   * @param momentId id under which a call reports this start or end
   */
  async kept(tenantId: string, momentId: string, reported: IdentifiedEvent): Promise<IdentifiedEvent> {
    const { event } = reported;
    const first = await this.#first(tenantId, momentId, reported);
    const isReportedByCall = event.id === momentId || first.id === momentId;
    if (!isReportedByCall || first.id === event.id) return reported;
    const { atMs, ...identity } = first;
    const kept = { ...event, ...identity, retryable: true, occurredAt: new Date(atMs).toISOString() };
    const json = JSON.stringify(kept);
    return { event: kept, json, bytes: Buffer.byteLength(json) };
  }

  /** If the store is unavailable, an event is kept as it arrived, which at worst counts it twice. */
  async #first(tenantId: string, momentId: string, { event: { id, occurredAt, hash } }: IdentifiedEvent) {
    const atMs = Date.parse(occurredAt);
    try {
      const request = { bodyHash: oneWord(id, hash), receivedAtMs: atMs };
      const known = await this.memory.remember(tenantId, `moment:${momentId}`, request);
      return { ...identityOf(known.bodyHash), atMs: known.receivedAtMs };
    } catch (error) {
      if (!(error instanceof StateUnavailable)) throw error;
      this.onMemoryLost(error);
      return { id, hash, atMs };
    }
  }
}

/** The store accepts no spaces, but a client's id may contain them. */
function oneWord(id: string, hash: string): string {
  return `${hash}.${Buffer.from(id).toString('base64url')}`;
}

function identityOf(word: string): { readonly id: string; readonly hash: string } {
  const [hash = '', id = ''] = word.split('.', 2);
  return { id: Buffer.from(id, 'base64url').toString(), hash };
}
