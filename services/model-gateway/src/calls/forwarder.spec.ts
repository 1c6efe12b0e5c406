import { Readable } from 'node:stream';
import type { OpenedAnswer } from '@agentlens/egress';
import { type AnswerScript, writeStreamedAnswer } from '@agentlens/model-api';
import { describe, expect, it } from '@jest/globals';
import type { GatewayCall } from '../gateway-call.ts';
import { type AnswerWriter, ClientGone } from './answer-writer.ts';
import { Forwarder } from './forwarder.ts';

const SCRIPT: AnswerScript = { id: 'a', model: 'm', pieces: ['One ', 'two'], inputTokens: 5, outputTokens: 2 };
const CALL = {
  ...{ id: 'gw-1', tenantId: 'acme', api: 'chat', path: '/v1/chat/completions', query: '', headers: {} },
  connection: { name: 'openai', dialect: 'openai', baseUrl: 'http://provider', forwardHeaders: [] },
  request: { tools: [], streamed: true, inputTokens: 5 },
  body: new Uint8Array(),
} as unknown as GatewayCall;
const ESTIMATE = { stepTokens: 1_000, maxTokens: undefined, usageAt: () => ({ tokens: 0, costUsd: 0 }) };

/** Forwards a call whose provider answers so, and returns the outcome with what was done to the client's answer. */
async function forward(
  opened: OpenedAnswer,
  write: (text: string) => void,
  failed = false,
  left = new AbortController().signal,
) {
  const did: string[] = [];
  const head: Record<string, unknown> = {};
  let hasHead = false;
  const writer = {
    get hasHead() {
      return hasHead;
    },
    head: (status: number, headers: object) => {
      hasHead = true;
      Object.assign(head, { status }, headers);
    },
    flushHead: () => undefined,
    write: async (bytes: Uint8Array) => write(Buffer.from(bytes).toString()),
    cut: () => did.push('cut'),
  } as unknown as AnswerWriter;
  const forwarder = new Forwarder({
    attempts: {
      open: async (call, { estimate }) => ({
        ...{ opened, estimate, call: { ...call, connection: { ...call.connection, name: 'other' } } },
        failed: failed ? { connection: 'openai', provider: 'openai', problem: 'status 503', tookMs: 1 } : undefined,
      }),
    },
    openAnswers: { add: () => () => undefined },
    rules: { concern: () => false, require: async () => undefined, note: async () => undefined },
    tools: { holds: () => false, decide: async () => new Map(), note: () => undefined },
  });
  const nothing = async () => undefined;
  const admitted = { ancestors: [], estimate: ESTIMATE, grow: nothing, renew: nothing, reprice: nothing };
  const own = { 'x-agentlens-call': CALL.id };
  return { ...(await forwarder.forward(CALL, admitted, writer, own, left)), did, head };
}

const streamed = (...frames: readonly string[]): OpenedAnswer => ({
  ...{ kind: 'answered', status: 200, headers: { 'content-type': 'text/event-stream' } },
  body: Readable.from(frames.map((frame) => Buffer.from(frame))),
});

describe('a call that is forwarded', () => {
  it('is completed with the whole answer', async () => {
    let text = '';
    const frames = writeStreamedAnswer('chat', SCRIPT, true);
    const { outcome, did } = await forward(streamed(...frames), (part) => {
      text += part;
    });
    expect([outcome.kind, did, text]).toEqual(['completed', [], frames.join('')]);
  });

  it('never ends like a complete answer for a client that reads too slowly', async () => {
    const { outcome, did } = await forward(streamed(...writeStreamedAnswer('chat', SCRIPT, true)), () => {
      throw new ClientGone('the client reads too slowly');
    });
    expect([outcome.kind, did]).toEqual(['client_gone', ['cut']]);
  });

  it('names the connection that answered only if it is not the one that was asked', async () => {
    const frames = writeStreamedAnswer('chat', SCRIPT, true);
    const direct = await forward(streamed(...frames), () => undefined);
    expect(direct.head).toMatchObject({ status: 200, 'x-agentlens-call': 'gw-1' });
    expect(Object.keys(direct.head)).not.toContain('x-agentlens-connection');
    const fallenBack = await forward(streamed(...frames), () => undefined, true);
    expect(fallenBack.head).toMatchObject({ 'x-agentlens-call': 'gw-1', 'x-agentlens-connection': 'other' });
    expect(fallenBack).toMatchObject({ call: { connection: { name: 'other' } }, failed: { connection: 'openai' } });
  });

  it('costs nothing if its client left before it was sent', async () => {
    const { outcome } = await forward(streamed(), () => undefined, false, AbortSignal.abort());
    expect(outcome).toMatchObject({ kind: 'failed', refusal: { code: 'client_gone' } });
  });

  it('says which connection gave no answer', async () => {
    let text = '';
    const { outcome } = await forward(
      { kind: 'late', reason: 'headers timeout' },
      (part) => {
        text += part;
      },
      true,
    );
    expect(outcome).toMatchObject({ kind: 'failed', refusal: { code: 'provider_timeout' } });
    expect(text).toContain('the connection \\"other\\" did not answer');
  });
});
