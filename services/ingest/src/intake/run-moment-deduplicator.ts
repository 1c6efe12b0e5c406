import { type IdempotencyStore, StateUnavailable } from '@agentlens/state';
import type { IdentifiedEvent } from './identity.ts';

/**
 * Makes one event of a run's start, and of its end, where both a call and an event of the session tell it. Whichever
 * arrives first gives id, time and hash. A call, and its audit event, is that event always; of a run that no call tells,
 * every start and end is kept as it was sent, for a session can be started and ended again.
 */
export class RunMomentDeduplicator {
  constructor(
    private readonly memory: Pick<IdempotencyStore, 'remember'>,
    private readonly onMemoryLost: (error: unknown) => void,
  ) {}

  /**
   * The event as it is kept; for 24 hours the same.
   * @param momentId under which a call tells this start or end.
   */
  async kept(tenantId: string, momentId: string, told: IdentifiedEvent): Promise<IdentifiedEvent> {
    const { event } = told;
    const first = await this.#first(tenantId, momentId, told);
    const isToldByCall = event.id === momentId || first.id === momentId;
    if (!isToldByCall || first.id === event.id) return told;
    const { atMs, ...identity } = first;
    const kept = { ...event, ...identity, retryable: true, occurredAt: new Date(atMs).toISOString() };
    const json = JSON.stringify(kept);
    return { event: kept, json, bytes: Buffer.byteLength(json) };
  }

  /** Without the store an event is kept as it came, which at worst counts one twice. */
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

/** The store keeps a word; an id of a client may hold spaces. */
function oneWord(id: string, hash: string): string {
  return `${hash}.${Buffer.from(id).toString('base64url')}`;
}

function identityOf(word: string): { readonly id: string; readonly hash: string } {
  const [hash = '', id = ''] = word.split('.', 2);
  return { id: Buffer.from(id, 'base64url').toString(), hash };
}
