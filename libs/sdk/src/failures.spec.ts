import { describe, expect, it } from '@jest/globals';
import { allow, type Failure, settle, TestPlatform } from './testing/index.ts';
import type { Decision } from './wire/decision.ts';

/** Requests a decision while the server fails; advances time until it is answered. */
async function decidedWhile(server: TestPlatform, failure: Failure, options = {}): Promise<Decision> {
  const client = await server.client({ control: 'off', ...options });
  const run = await client.startRun();
  server.fail(failure);
  const deciding = run.beforeTool('t', { a: 1 });
  await server.clock.advance(1_000);
  return deciding;
}

const FAILURES: readonly (readonly [string, Failure, string])[] = [
  ['refuses connections', 'down', 'unavailable'],
  ['answers 500', 500, 'unavailable'],
  ['hangs', 'hang', 'deadline'],
  ['answers nonsense', 'nonsense', 'nonsense'],
  ['rejects the question', 422, 'refused'],
];

describe('while the server fails', () => {
  it.each(FAILURES)('and %s, failing open continues and records it', async (_, failure, bypass) => {
    const server = new TestPlatform();
    expect(await decidedWhile(server, failure)).toMatchObject({
      verdict: 'ALLOW',
      args: { a: 1 },
      source: 'fallback',
      bypass,
    });
  });

  it.each(FAILURES)('and %s, failing closed ends the run', async (_, failure, bypass) => {
    const server = new TestPlatform();
    expect(await decidedWhile(server, failure, { failMode: 'closed' })).toMatchObject({
      verdict: 'BLOCK',
      control: 'TERMINATE',
      cause: { kind: 'LOCKDOWN' },
      source: 'fallback',
      bypass,
    });
  });

  it.each([
    ['*', 'error'],
    ['r1', 'deadline'],
    ['circuit_breaker', 'unavailable'],
  ] as const)('and allows a call it could not evaluate (%s: %s), failing closed ends the run', async (ruleId, why) => {
    const passed = { ...allow(), bypasses: [{ ruleId, why, did: 'allow' }] } as const;
    const server = new TestPlatform().answer(() => passed);
    const bypass = why === 'deadline' ? 'deadline' : 'unavailable';
    const refused = { verdict: 'BLOCK', control: 'TERMINATE', source: 'fallback', bypass };
    expect(await decidedWhile(server, 'none', { failMode: 'closed' })).toMatchObject(refused);
    expect(await decidedWhile(server, 'none')).toMatchObject({ ...passed, source: 'remote' });
  });

  it.each(['missing', 'error'] as const)(
    'and a rule has no result (%s), failing closed follows the rule',
    async (why) => {
      const passed = { ...allow(), bypasses: [{ ruleId: 'r1', why, did: 'allow' }] } as const;
      const server = new TestPlatform().answer(() => passed);
      expect(await decidedWhile(server, 'none', { failMode: 'closed' })).toMatchObject({ verdict: 'ALLOW' });
    },
  );

  it('retries a call whose connection failed once, but not a rejected one', async () => {
    const down = new TestPlatform();
    await decidedWhile(down, 503);
    const refused = new TestPlatform();
    await decidedWhile(refused, 400);
    const evaluations = (server: TestPlatform) => server.calls.filter(({ path }) => path.endsWith('/evaluate')).length;
    expect([evaluations(down), evaluations(refused)]).toEqual([2, 1]);
  });

  it('records every bypass', async () => {
    const server = new TestPlatform();
    const client = await server.client();
    const run = await client.startRun();
    server.fail('down', (path) => path.endsWith('/evaluate'));
    await run.beforeTool('t', {});
    await run.end();
    expect(server.eventsOf('tool.decision')[0]?.data).toMatchObject({ source: 'fallback', bypass: 'unavailable' });
  });

  it('a transport that ignores signals cannot hang the agent', async () => {
    const server = new TestPlatform();
    const hangingHttp = { ...server.http, call: () => new Promise<never>(() => undefined) };
    const connecting = server.client({ runtime: { http: hangingHttp }, control: 'off' });
    await server.clock.advance(1_000);
    const client = await connecting;
    const starting = client.startRun();
    await server.clock.advance(1_000);
    const run = await starting;
    const working = (async () => {
      await run.beforeLlm([{ role: 'user', content: 'x' }]);
      const decision = await run.beforeTool('t', {});
      await run.afterTool('t', {}, 1);
      await run.end();
      return decision.verdict;
    })();
    await server.clock.advance(60_000);
    expect(await working).toBe('ALLOW');
  });

  it('a transport that throws synchronously counts as unavailable', async () => {
    const server = new TestPlatform();
    const broken = {
      ...server.http,
      call: () => {
        throw new Error('bug');
      },
    };
    const client = await server.client({ runtime: { http: broken }, control: 'off' });
    const run = await client.startRun();
    expect(await run.beforeTool('t', {})).toMatchObject({ verdict: 'ALLOW', bypass: 'unregistered' });
  });
});

describe('a server that is unavailable at first', () => {
  it('receives the agent, the run and its events when it is back', async () => {
    const server = new TestPlatform();
    server.fail('down');
    const client = await server.client({ control: 'off' });
    const run = await client.startRun({ runId: 'r' });
    await run.beforeTool('t', {});
    expect([client.status.agentId, server.runs]).toEqual([undefined, []]);
    server.fail('none');
    await server.clock.advance(10_000);
    expect(client.status.agentId).toBe('agent-1');
    expect(server.runs).toMatchObject([{ id: 'r', status: 'running' }]);
    expect(server.events.map(({ kind }) => kind)).toEqual(['run.started', 'decision.bypassed', 'tool.decision']);
    await run.end();
  });

  it('does not delay the end of a run beyond the drain time', async () => {
    const server = new TestPlatform();
    const client = await server.client({ drainMs: 2_000, control: 'off' });
    const run = await client.startRun();
    server.fail('hang');
    let over = false;
    const ending = run.end().then(() => {
      over = true;
    });
    await server.clock.advance(2_000);
    await ending;
    expect(over).toBe(true);
  });
});

describe('arguments', () => {
  it('may be circular, throw or be of any size, and the question is still sent', async () => {
    const server = new TestPlatform();
    const run = await (await server.client()).startRun();
    const circular: Record<string, unknown> = { name: 'x' };
    circular.self = circular;
    expect(await run.beforeTool('t', circular)).toMatchObject({ verdict: 'ALLOW', source: 'remote' });
    expect(server.questions[0]).toMatchObject({ args: { name: 'x', self: '[Circular]' }, unread: ['args'] });
    await run.afterTool('t', circular, circular);
    expect(server.questions[1]?.result).toEqual({ name: 'x', self: '[Circular]' });
  });

  it('block the call if they are too large to check, or pass unchecked if so configured', async () => {
    const server = new TestPlatform();
    const large = { text: 'x'.repeat(200_001) };
    const run = await (await server.client()).startRun();
    expect(await run.beforeTool('t', large)).toMatchObject({
      verdict: 'BLOCK',
      control: 'CONTINUE',
      message: 'The arguments of this call are too large to be checked.',
    });
    const open = await (await server.client({ onOversized: 'allow' })).startRun();
    expect(await open.beforeTool('t', large)).toMatchObject({ verdict: 'ALLOW', args: large });
    expect(server.questions).toMatchObject([{ args: {}, unread: ['args'] }]);
  });

  it('are treated as data', async () => {
    const server = new TestPlatform();
    const run = await (await server.client()).startRun();
    const hostile = ['__proto__', 'constructor', '\u0000', '\ud800', '"}],"events":[', '../../v1/agents', '*', ''];
    for (const text of hostile) {
      await run.beforeTool(
        text === '' ? 'empty' : text,
        JSON.parse(`{"__proto__":{"x":1},"v":${JSON.stringify(text)}}`),
      );
      await run.afterTool(text === '' ? 'empty' : text, {}, text);
      await run.beforeLlm([{ role: text, content: text }]);
    }
    await run.end();
    expect(server.eventsOf('tool.decision')).toHaveLength(hostile.length);
    expect(({} as { x?: number }).x).toBeUndefined();
  });

  it('an oversized event keeps its numbers and the beginning of its texts', async () => {
    const server = new TestPlatform();
    const run = await (await server.client()).startRun();
    run.record('note', { size: 7, text: 'x'.repeat(300_000) });
    await run.end();
    expect(server.eventsOf('note')[0]?.data).toMatchObject({ size: 7, truncated: true });
    expect(JSON.stringify(server.eventsOf('note')[0]).length).toBeLessThan(10_000);
  });
});

describe('a wrong clock', () => {
  it.each([
    ['years ahead', Date.parse('2099-01-01T00:00:00Z')],
    ['before everything', -1e15],
    ['nowhere', Number.NaN],
    ['beyond all dates', 1e300],
  ])('(%s) does no harm', async (_, now) => {
    const server = new TestPlatform();
    const clock = {
      now: () => now,
      elapsed: () => server.clock.elapsed(),
      timer: server.clock.timer.bind(server.clock),
    };
    const client = await server.client({ runtime: { clock }, breaker: { maxTokens: 1 } });
    const run = await client.startRun();
    await run.afterLlm({ content: [], model: { name: 'm' }, usage: { inputTokens: 2 } });
    expect(await run.beforeTool('t', {})).toMatchObject({ verdict: 'BLOCK' });
    await run.end();
    expect(server.eventsOf('run.ended')).toHaveLength(1);
  });
});

describe('shutdown', () => {
  it('ends open runs, sends waiting events and can be called twice', async () => {
    const server = new TestPlatform();
    const client = await server.client();
    await client.startRun({ runId: 'r' });
    await Promise.all([client.shutdown(), client.shutdown()]);
    expect(server.runs).toMatchObject([{ id: 'r', status: 'interrupted' }]);
    expect(server.eventsOf('run.ended')).toHaveLength(1);
    await settle();
    expect(client.status.events.waiting).toBe(0);
  });
});
