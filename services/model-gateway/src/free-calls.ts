import { type ModelRefusal, pickAnswerHeaders } from '@agentlens/model-api';
import { type ControlBoard, controlStateMessage } from '@agentlens/platform';
import type { FastifyReply } from 'fastify';
import type { ModelCaller } from './callers/identify.ts';
import { type Connection, type Connections, isTrial } from './connections/connections.ts';
import { readAnswer } from './providers/compression.ts';
import type { Provider } from './providers/model-provider-client.ts';
import { findUnusable, findWrongKey } from './providers/unusable-answer.ts';
import { RefusedCall } from './refused-call.ts';

const TIMEOUTS = { firstByteMs: 60_000, betweenChunksMs: 60_000 };
const MAX_ANSWER_BYTES = 1024 * 1024;

/** A call that costs nothing, such as counting tokens. */
export interface FreeCall {
  readonly caller: ModelCaller;
  readonly connection: Connection;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/** Forwards calls that cost nothing: the same checks of key and path, no decision and no record. */
export class FreeCalls {
  constructor(
    private readonly provider: Provider,
    private readonly connections: Pick<Connections, 'authorize'>,
    private readonly board: Pick<ControlBoard, 'stateOf'>,
  ) {}

  /** @throws RefusedCall */
  async forward(call: FreeCall, reply: FastifyReply, signal: AbortSignal): Promise<unknown> {
    const { caller, connection, path, headers, body } = call;
    const state = this.board.stateOf(caller.caller.tenantId, caller.agentId, caller.runId);
    if (state.kind === 'killed') throw new RefusedCall('policy', 'agentlens_stopped', controlStateMessage(state));
    if (isTrial(connection)) return reply.send({ input_tokens: Math.ceil(body.length / 3) });
    const authorized = this.connections.authorize(caller.caller.tenantId, connection);
    const opened = await this.provider.open({
      method: 'POST',
      url: `${connection.baseUrl}${path}`,
      body,
      timeouts: TIMEOUTS,
      signal,
      headers: { ...headers, 'content-type': 'application/json', 'accept-encoding': 'identity', ...authorized },
    });
    if (opened.kind !== 'answered') {
      const message = `The provider of the connection "${connection.name}" did not answer: ${opened.reason}.`;
      throw new RefusedCall('provider_unreachable', 'provider_unreachable', message);
    }
    const unusable = findUnusable(connection, opened.status);
    if (unusable !== undefined) {
      opened.body.destroy();
      throw refuseBy(unusable);
    }
    const encoding = opened.headers['content-encoding'];
    const chunks: Uint8Array[] = [];
    let bytes = 0;
    for await (const chunk of readAnswer(opened.body, typeof encoding === 'string' ? encoding : undefined)) {
      bytes += chunk.length;
      if (bytes > MAX_ANSWER_BYTES)
        throw new RefusedCall('provider_unreachable', 'answer_too_large', 'The answer is too large.');
      chunks.push(chunk);
    }
    const whole = Buffer.concat(chunks);
    const wrongKey = findWrongKey(connection, opened.status, whole.toString());
    if (wrongKey !== undefined) throw refuseBy(wrongKey);
    return reply.status(opened.status).headers(pickAnswerHeaders(opened.headers)).send(whole);
  }
}

function refuseBy({ kind, code, message }: ModelRefusal): RefusedCall {
  return new RefusedCall(kind, code, message);
}
