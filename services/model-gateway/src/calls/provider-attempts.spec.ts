import { Readable } from 'node:stream';
import type { OpenedAnswer, StreamingRequest } from '@agentlens/egress';
import { fixedClock } from '@agentlens/testing';
import { describe, expect, it } from '@jest/globals';
import type { Connection } from '../connections/connections.ts';
import type { GatewayCall } from '../gateway-call.ts';
import type { CallEstimate } from './estimate.ts';
import { ProviderAttempts } from './provider-attempts.ts';

const connection = (name: string, fields: Partial<Connection> = {}): Connection => ({
  ...{ name, dialect: 'openai', baseUrl: `https://${name}.example/v1`, sealedCredential: null, models: undefined },
  ...{ forwardHeaders: [], enabled: true, fallback: undefined, firstByteMs: 60_000, provider: name },
  ...fields,
});
const estimateOf = (costUsd: number): CallEstimate => ({
  ...{ stepTokens: 1_000, maxTokens: undefined, usageAt: () => ({ tokens: 0, costUsd }) },
});
const FIRST = estimateOf(1);
const REPRICED = estimateOf(2);
const CALL = {
  ...{ id: 'gw-1', tenantId: 'acme', api: 'chat', path: '/chat/completions', query: '?a=1', model: 'm' },
  headers: { 'openai-beta': 'x', 'x-team': 'blue' },
  connection: connection('us', { fallback: 'eu' }),
  fallback: connection('eu', { forwardHeaders: ['x-team'], firstByteMs: 5_000 }),
  body: Buffer.from('{"model":"m"}'),
} as unknown as GatewayCall;

const answered = (status: number, body = Readable.from([])): OpenedAnswer => ({
  ...{ kind: 'answered', status, headers: {}, body },
});
const UNREACHABLE: OpenedAnswer = { kind: 'unreachable', reason: 'connect ECONNREFUSED' };
const LATE: OpenedAnswer = { kind: 'late', reason: 'headers timeout' };
const REFUSED: OpenedAnswer = { kind: 'refused', reason: 'the address is private' };

interface Played {
  readonly call?: GatewayCall;
  /** What the budget says about the price of the fallback. */
  readonly reprice?: () => Promise<CallEstimate | undefined>;
  readonly ending?: AbortController;
}

/** Opens a call whose providers answer so, in order. */
async function open(answers: readonly (OpenedAnswer | Error)[], played: Played = {}) {
  const { call = CALL, reprice = async () => REPRICED, ending = new AbortController() } = played;
  const clock = fixedClock();
  const sent: StreamingRequest[] = [];
  const repriced: string[] = [];
  const provider = {
    open: async (request: StreamingRequest) => {
      clock.advance(250);
      const answer = answers[sent.push(request) - 1];
      if (answer === undefined) throw new Error('a third attempt');
      if (answer instanceof Error) throw answer;
      return answer;
    },
  };
  const attempts = new ProviderAttempts({
    provider,
    trial: provider,
    now: () => clock.now(),
    authorize: (tenantId, { name }) => ({ authorization: `${tenantId} at ${name}` }),
  });
  const admitted = {
    estimate: FIRST,
    reprice: async (other: Connection) => {
      repriced.push(other.name);
      return reprice();
    },
  };
  return { result: await attempts.open(call, admitted, ending.signal), sent, repriced };
}

describe('a call whose connection has a fallback', () => {
  it.each([
    ['cannot be reached', UNREACHABLE, 'connect ECONNREFUSED'],
    ['does not begin its answer in time', LATE, 'headers timeout'],
    ...[429, 500, 502, 503, 504, 529].map(
      (status) => [`answers ${status}`, answered(status), `status ${status}`] as const,
    ),
  ])('goes to it once, if its provider %s', async (_what, first, problem) => {
    const { result, sent, repriced } = await open([first, answered(200)]);
    expect(sent.map(({ url }) => url)).toEqual([
      'https://us.example/v1/chat/completions?a=1',
      'https://eu.example/v1/chat/completions?a=1',
    ]);
    expect(result).toMatchObject({
      opened: { status: 200 },
      call: { connection: { name: 'eu', provider: 'eu' } },
      failed: { connection: 'us', provider: 'us', problem, tookMs: 250 },
    });
    expect(result.estimate).toBe(REPRICED);
    expect(repriced).toEqual(['eu']);
  });

  it('is sent with the key, the headers, and the patience of the fallback, and with the same body', async () => {
    const { sent } = await open([UNREACHABLE, answered(200)]);
    expect(sent).toMatchObject([
      { headers: { authorization: 'acme at us', 'openai-beta': 'x' } },
      { headers: { authorization: 'acme at eu', 'openai-beta': 'x', 'x-team': 'blue' } },
    ]);
    expect(Object.keys(sent[0]?.headers ?? {})).not.toContain('x-team');
    expect(sent.map(({ timeouts }) => timeouts.firstByteMs)).toEqual([60_000, 5_000]);
    expect(new Set(sent.map(({ body }) => body))).toEqual(new Set([CALL.body]));
  });

  it.each([
    ['answers', answered(200)],
    ['rejects the request', answered(400)],
    ['rejects the key', answered(401)],
    ['does not know the model', answered(404)],
    ['may not be called', REFUSED],
  ])('stays with a provider that %s', async (_what, first) => {
    const { result, sent } = await open([first]);
    expect(sent).toHaveLength(1);
    expect(result).toEqual({ call: CALL, opened: first, estimate: FIRST, failed: undefined });
  });

  it('gets the answer of the fallback, also an error', async () => {
    const { result, sent } = await open([answered(503), answered(529)]);
    expect([sent.length, result.opened]).toEqual([2, expect.objectContaining({ status: 529 })]);
    expect((await open([answered(503), LATE])).result.opened).toBe(LATE);
  });

  it('leaves the first answer unread when it goes on, and keeps it open when it does not', async () => {
    const left = Readable.from(['busy']);
    await open([answered(503, left), answered(200)]);
    expect(left.destroyed).toBe(true);
    const kept = Readable.from(['busy']);
    await open([answered(503, kept)], { reprice: async () => undefined });
    expect(kept.destroyed).toBe(false);
  });

  it('gets the answer of its provider if a budget has no room for the fallback', async () => {
    const first = answered(503);
    const { result, sent } = await open([first], { reprice: async () => undefined });
    expect(sent).toHaveLength(1);
    expect(result).toEqual({ call: CALL, opened: first, estimate: FIRST, failed: undefined });
  });

  it('ends without another attempt when it is stopped, or its client leaves', async () => {
    const reason = new Error('killed');
    const stopped = new AbortController();
    stopped.abort(reason);
    const during = await open([reason], { ending: stopped });
    expect([during.sent.length, during.result.opened]).toEqual([1, { kind: 'ended', reason }]);

    const body = Readable.from(['busy']);
    const ending = new AbortController();
    const between = await open([answered(503, body)], {
      ending,
      reprice: async () => {
        ending.abort(reason);
        return REPRICED;
      },
    });
    expect([between.sent.length, between.result.opened]).toEqual([1, { kind: 'ended', reason }]);
    expect(body.destroyed).toBe(true);
  });
});

describe('a call whose connection has no fallback', () => {
  it.each([UNREACHABLE, LATE, answered(503)])('is sent once: $kind', async (first) => {
    const { result, sent, repriced } = await open([first], { call: { ...CALL, fallback: undefined } });
    expect([sent.length, repriced, result.opened]).toEqual([1, [], first]);
  });
});
