import { createHash } from 'node:crypto';
import { timeOrderedId } from '@agentlens/contracts';
import type { OwnRuns } from '@agentlens/decisions';
import { type Caller, type Clock, type Platform, ProblemException } from '@agentlens/platform';
import { type IdempotencyStore, StateUnavailable } from '@agentlens/state';
import { RefusedCall } from '../refused-call.ts';

interface ConversationRunsDependencies {
  readonly memory: Pick<IdempotencyStore, 'remember' | 'find'>;
  readonly ownRuns: Pick<OwnRuns, 'require'>;
  readonly clock: Clock;
  readonly logger: Platform['logger'];
}

/** The agent and the connection of an answer that is kept at the provider. */
export interface ResponsePlace {
  readonly tenantId: string;
  readonly agentId: string;
  readonly connection: string;
}

const RESPONSE_ID = /^[\w.-]{1,256}$/;

/** Which run a call belongs to. Every instance gives the same answer for a day. */
export class ConversationRuns {
  readonly #parts: ConversationRunsDependencies;

  constructor(parts: ConversationRunsDependencies) {
    this.#parts = parts;
  }

  /**
   * The run of a conversation whose client names no run. Without the state store, its id follows from the conversation
   * alone.
   */
  async find(tenantId: string, keyId: string, conversation: string): Promise<string> {
    const name = createHash('sha256')
      .update(JSON.stringify([keyId, conversation]))
      .digest('hex')
      .slice(0, 32);
    const { memory, clock, logger } = this.#parts;
    const nowMs = clock.now();
    try {
      const wanted = { bodyHash: `conv-${timeOrderedId(nowMs)}`, receivedAtMs: nowMs };
      return (await memory.remember(tenantId, `conversation:${name}`, wanted)).bodyHash;
    } catch (error) {
      if (!(error instanceof StateUnavailable)) throw error;
      logger.warn({ err: error }, 'state store unavailable, a conversation gets a run by its content');
      return `conv-${name}`;
    }
  }

  /** Notes which agent an answer belongs to that is kept at the provider, for 24 hours. Never rejects. */
  async noteResponse(place: ResponsePlace, responseId: string, runId: string): Promise<void> {
    if (!RESPONSE_ID.test(responseId)) return;
    const { memory, clock, logger } = this.#parts;
    const bodyHash = Buffer.from(JSON.stringify([place.agentId, runId])).toString('base64url');
    try {
      await memory.remember(place.tenantId, nameResponse(place, responseId), { bodyHash, receivedAtMs: clock.now() });
    } catch (error) {
      logger.warn({ err: error }, 'state store unavailable, a response cannot be continued through the gateway');
    }
  }

  /** The run of an answer that a request continues. @throws RefusedCall if the agent did not get it here */
  async continued(place: ResponsePlace, responseId: string): Promise<string> {
    const isId = RESPONSE_ID.test(responseId);
    const [agentId, runId] = isId ? await this.#findOwner(place, responseId) : [];
    if (runId !== undefined && agentId === place.agentId) return runId;
    const message = '"previous_response_id" is not a response of this agent within the last 24 hours.';
    throw new RefusedCall('not_found', 'response_unknown', message);
  }

  async #findOwner(place: ResponsePlace, responseId: string): Promise<readonly string[]> {
    try {
      const found = await this.#parts.memory.find(place.tenantId, nameResponse(place, responseId));
      if (found === undefined) return [];
      return JSON.parse(Buffer.from(found.bodyHash, 'base64url').toString()) as string[];
    } catch (error) {
      if (!(error instanceof StateUnavailable)) throw error;
      const message = 'Earlier responses cannot be looked up now. Send the request again.';
      throw new RefusedCall('unavailable', 'state_unavailable', message);
    }
  }

  /** @throws RefusedCall if the key is bound to agents and the run belongs to another one */
  async requireOwn(caller: Caller, runId: string, agentId: string): Promise<void> {
    try {
      await this.#parts.ownRuns.require(caller, runId, agentId);
    } catch (error) {
      if (!(error instanceof ProblemException) || error.getStatus() !== 403) throw error;
      throw new RefusedCall(
        'forbidden',
        'other_agents_run',
        'The run belongs to another agent than those of this key.',
      );
    }
  }
}

function nameResponse({ connection }: ResponsePlace, responseId: string): string {
  return `response:${connection}:${responseId}`;
}
