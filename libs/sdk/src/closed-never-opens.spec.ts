import { describe, it } from '@jest/globals';
import fc from 'fast-check';
import { isAgentStopped } from './run/agent-stopped.ts';
import type { Run } from './run/run.ts';
import type { HttpAnswer, HttpCall } from './runtime/runtime.ts';
import { allow, block, TestPlatform, terminate } from './testing/index.ts';
import { isRecord, parseJson } from './wire/decision.ts';

/** How the server answers one decision request. */
type Reply = { readonly status: number; readonly text: string } | 'breaks' | 'hangs';

interface Asking {
  readonly hook: 'beforeTool' | 'afterTool' | 'beforeLlm';
  readonly replies: readonly Reply[];
  readonly name: string;
  readonly callId: string | undefined;
  readonly args: unknown;
  readonly metrics: Readonly<Record<string, number>>;
  readonly estimate: { readonly tokens: number; readonly costUsd: number } | undefined;
}

const ways = ['allow', 'block', 'later'] as const;
const reasons = ['missing', 'error', 'unavailable', 'deadline', 'newer'] as const;
const bypass = fc.oneof(
  fc.record({
    ruleId: fc.constantFrom('r1', '*', 'b1'),
    why: fc.constantFrom(...reasons),
    did: fc.constantFrom(...ways),
  }),
  fc.jsonValue({ maxDepth: 1 }),
);
const decision = fc
  .tuple(
    fc.constantFrom(allow(), block(), terminate()),
    fc.oneof(fc.constant({}), fc.record({ bypasses: fc.oneof(fc.array(bypass, { maxLength: 2 }), fc.jsonValue()) })),
    fc.constantFrom<Record<string, unknown>>({}, {}, { verdict: 'PERHAPS' }, { cause: null }, { control: 1 }),
  )
  .map((parts) => JSON.stringify(Object.assign({}, ...parts)));
const problem = fc
  .constantFrom('phase', 'estimate.tokens', 'callId', '')
  .map((path) => JSON.stringify({ error: 'Validation failed', status: 400, details: [{ path, message: 'wrong' }] }));
const answer = fc.record({
  status: fc.oneof(
    fc.constant(200),
    fc.constantFrom(201, 204, 302, 304, 400, 401, 403, 404, 405, 408, 413, 422, 429, 500, 503),
  ),
  text: fc.oneof(decision, decision, problem, fc.json(), fc.string()),
});
const replies: fc.Arbitrary<Reply> = fc.oneof(
  { weight: 8, arbitrary: answer },
  { weight: 1, arbitrary: fc.constantFrom('breaks' as const, 'hangs' as const) },
);
const odd = fc.constantFrom(0, 1, -1, Number.POSITIVE_INFINITY, -0, Number.NaN, 1e308);
const asking: fc.Arbitrary<Asking> = fc.record({
  hook: fc.constantFrom('beforeTool', 'afterTool', 'beforeLlm'),
  // A request whose connection failed is sent again.
  replies: fc.array(replies, { minLength: 2, maxLength: 2 }),
  name: fc.string({ minLength: 1 }),
  callId: fc.option(fc.string({ maxLength: 300 }), { nil: undefined }),
  args: fc.anything({ maxDepth: 2 }),
  metrics: fc.dictionary(fc.string({ maxLength: 5 }), odd, { maxKeys: 2 }),
  estimate: fc.option(fc.record({ tokens: odd, costUsd: odd }), { nil: undefined }),
});

describe('with fail mode closed', () => {
  it('only explicitly allowed calls pass, for any server answer and any question', async () => {
    const agent = fc.constantFrom<Reply>(
      { status: 200, text: '{"agentId":"agent-1"}' },
      { status: 500, text: '' },
      'breaks',
    );
    await fc.assert(
      fc.asyncProperty(agent, fc.array(asking, { minLength: 1, maxLength: 4 }), async (registered, questions) => {
        const server = new TestPlatform();
        const received: Reply[] = [];
        let script: Reply[] = [];
        const call = (request: HttpCall): Promise<HttpAnswer> => {
          if (request.url.endsWith('/v1/agents')) return replyWith(registered);
          if (!request.url.endsWith('/evaluate')) return server.http.call(request);
          const next = script.shift() ?? 'breaks';
          received.push(next);
          return replyWith(next);
        };
        const options = { failMode: 'closed', control: 'off', runtime: { http: { ...server.http, call } } } as const;
        const client = await passingTime(server, server.client(options));
        const run = await passingTime(server, client.startRun());
        let isOldServer = false;
        for (const question of questions) {
          received.length = 0;
          script = [...question.replies];
          const passed = await passingTime(server, hasPassed(run, question));
          isOldServer ||= question.hook === 'beforeLlm' && received.some(isUnknownPhase);
          const allowed = received.some(isAllowed) || (question.hook === 'beforeLlm' && isOldServer);
          if (passed && !allowed) throw new Error(`passed after ${JSON.stringify(received)}`);
        }
      }),
      { numRuns: 300 },
    );
  });
});

function replyWith(next: Reply): Promise<HttpAnswer> {
  if (next === 'breaks') return Promise.reject(new Error('connection reset'));
  if (next === 'hangs') return new Promise(() => undefined);
  return Promise.resolve({ ...next, header: () => undefined });
}

async function hasPassed(run: Run, { hook, name, args, callId, metrics, estimate }: Asking): Promise<boolean> {
  try {
    if (hook === 'beforeLlm') {
      await run.beforeLlm([{ role: 'user', content: 'x' }], { callId, estimate });
      return true;
    }
    const options = { callId, metrics };
    const decided =
      hook === 'beforeTool'
        ? await run.beforeTool(name, args, options)
        : await run.afterTool(name, args, args, 1, undefined, options);
    return decided.verdict === 'ALLOW';
  } catch (error) {
    if (isAgentStopped(error) || error instanceof TypeError) return false;
    throw error;
  }
}

/** Advances the clock while waiting for an answer. */
async function passingTime<T>(server: TestPlatform, pending: Promise<T>): Promise<T> {
  let isOver = false;
  const over = () => {
    isOver = true;
  };
  pending.then(over, over);
  for (let turn = 0; !isOver && turn < 10; turn++) await server.clock.advance(1_000);
  return pending;
}

/** Reads an answer as strictly as the guarantee requires, independently of the code under test. */
function isAllowed(received: Reply): boolean {
  if (typeof received === 'string' || received.status < 200 || received.status > 299) return false;
  const body = parseJson(received.text);
  if (!isRecord(body) || body.verdict !== 'ALLOW' || body.control !== 'CONTINUE') return false;
  if (!isRecord(body.cause) || body.cause.kind !== 'ALLOW') return false;
  const bypasses = body.bypasses ?? [];
  return Array.isArray(bypasses) && bypasses.every(isSettled);
}

function isSettled(item: unknown): boolean {
  if (!isRecord(item)) return false;
  return item.did === 'block' || (item.ruleId !== '*' && (item.why === 'missing' || item.why === 'error'));
}

function isUnknownPhase(received: Reply): boolean {
  if (typeof received === 'string') return false;
  if (received.status === 404 || received.status === 405) return true;
  return received.status === 400 && received.text.includes('"path":"phase"');
}
