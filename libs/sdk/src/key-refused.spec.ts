import { describe, expect, it } from '@jest/globals';
import { allow, TestPlatform } from './testing/index.ts';

const isRunPath = (path: string) => path.startsWith('/v1/runs/');

describe('a rejected key', () => {
  it.each([401, 403])('(%i) makes init throw in any fail mode', async (status) => {
    for (const failMode of ['open', 'closed'] as const) {
      const server = new TestPlatform();
      server.fail(status);
      await expect(server.client({ failMode })).rejects.toMatchObject({
        name: 'ApiKeyRefused',
        status,
        message: expect.stringContaining(`the key was refused (${status})`),
      });
      const registrations = server.calls.length;
      await server.clock.advance(120_000);
      expect(server.calls).toHaveLength(registrations);
    }
  });

  it.each([401, 403])('(%i) later ends the run in any fail mode', async (status) => {
    for (const failMode of ['open', 'closed'] as const) {
      const server = new TestPlatform();
      const run = await (await server.client({ failMode, control: 'off' })).startRun();
      server.fail(status, isRunPath);
      const ended = { verdict: 'BLOCK', control: 'TERMINATE', message: 'This run was stopped: the key was refused' };
      expect(await run.beforeTool('t', {})).toMatchObject({ ...ended, source: 'fallback', bypass: 'key_refused' });
      expect(run.signal.aborted).toBe(true);
      server.fail('none');
      expect(await run.beforeTool('t', {})).toMatchObject({ ...ended, source: 'local' });
      await expect(run.beforeLlm([{ role: 'user', content: 'x' }])).rejects.toMatchObject({ name: 'AgentStopped' });
    }
  });

  it('ends a run at its start and at a heartbeat', async () => {
    const server = new TestPlatform();
    const client = await server.client({ control: 'off', heartbeatMs: 1_000 });
    const run = await client.startRun();
    server.fail(401, isRunPath);
    await server.clock.advance(1_000);
    expect(run.controlState).toMatchObject({ state: 'killed', reason: 'the key was refused' });
    expect((await client.startRun()).controlState).toMatchObject({ state: 'killed' });
  });

  it('ends runs whose order stream is rejected', async () => {
    const server = new TestPlatform();
    const isControl = (path: string) => path.startsWith('/v1/control');
    server.fail(503, isControl);
    const run = await (await server.client({ control: 'stream' })).startRun();
    server.fail(401, isControl);
    await server.clock.advance(15_000);
    expect(run.controlState).toMatchObject({ state: 'killed', reason: 'the key was refused' });
  });

  it('ends the run of an agent whose delayed registration is rejected', async () => {
    const server = new TestPlatform();
    server.fail('down');
    const client = await server.client({ control: 'off' });
    server.fail(401);
    const run = await client.startRun();
    expect(await run.beforeTool('t', {})).toMatchObject({ verdict: 'BLOCK', control: 'TERMINATE' });
  });

  it('stops nothing in shadow mode', async () => {
    const server = new TestPlatform();
    const run = await (await server.client({ enforceMode: 'shadow', control: 'off' })).startRun();
    server.fail(401, isRunPath);
    expect(await run.beforeTool('t', {})).toMatchObject({ verdict: 'ALLOW', shadowed: { verdict: 'BLOCK' } });
    expect(run.signal.aborted).toBe(false);
  });
});

describe('model calls while failing closed', () => {
  const namingPhase = { error: 'Validation failed', status: 400, details: [{ path: 'phase', message: 'unknown' }] };
  const messages = [{ role: 'user', content: 'x' }];

  async function askedOnce(status: number, body: unknown) {
    const server = new TestPlatform();
    const answer = { status, text: JSON.stringify(body), header: () => undefined };
    let isFailing = true;
    const http = {
      ...server.http,
      call: (call: Parameters<typeof server.http.call>[0]) =>
        isFailing && call.url.endsWith('/evaluate') ? Promise.resolve(answer) : server.http.call(call),
    };
    const client = await server.client({ failMode: 'closed', control: 'off', runtime: { http } });
    const run = await client.startRun();
    const outcome = await run.beforeLlm(messages).then(
      () => 'passed',
      () => 'stopped',
    );
    isFailing = false;
    return { outcome, server, run, client };
  }

  it.each<[string, number, unknown, string]>([
    ['does not know the route', 404, {}, 'passed'],
    ['does not know the method', 405, {}, 'passed'],
    ['does not know the phase', 400, namingPhase, 'passed'],
    ['rejects another part of the question', 400, { details: [{ path: 'estimate.tokens', message: 'x' }] }, 'stopped'],
    ['rejects the question', 400, '', 'stopped'],
    ['asks for a key', 401, {}, 'stopped'],
    ['requires another scope', 403, {}, 'stopped'],
    ['is over its quota', 429, {}, 'stopped'],
    ['finds the body too large', 413, {}, 'stopped'],
  ])('of a server that %s (%i)', async (_name, status, body, expected) => {
    expect((await askedOnce(status, body)).outcome).toBe(expected);
  });

  it('are decided again in the next run after a rejection', async () => {
    const { client, server } = await askedOnce(429, {});
    server.answer(({ phase }) => (phase === 'llm.before' ? allow() : undefined));
    const next = await client.startRun();
    await next.beforeLlm(messages);
    expect(server.questions.map(({ phase }) => phase)).toEqual(['llm.before']);
  });

  it('are decided again five minutes after a server did not know the phase', async () => {
    const { run, server } = await askedOnce(404, {});
    await run.beforeLlm(messages);
    expect(server.questions).toEqual([]);
    await server.clock.advance(300_001);
    await run.beforeLlm(messages);
    expect(server.questions.map(({ phase }) => phase)).toEqual(['llm.before']);
  });

  it.each([
    ['tokens', { tokens: Number.NaN, costUsd: 1 }],
    ['tokens', { tokens: -1, costUsd: 1 }],
    ['costUsd', { tokens: 1, costUsd: Number.POSITIVE_INFINITY }],
    ['costUsd', { tokens: 1, costUsd: '1' }],
  ])("are rejected before any request if the estimate's %s is not an amount", async (member, estimate) => {
    const server = new TestPlatform();
    const run = await (await server.client({ failMode: 'closed' })).startRun();
    const asking = run.beforeLlm(messages, { estimate: estimate as { tokens: number; costUsd: number } });
    await expect(asking).rejects.toThrow(new RegExp(`estimate\\.${member} must be 0 or a positive number`));
    expect(server.questions).toEqual([]);
  });
});

describe('an allowing answer while failing closed', () => {
  it.each<[string, unknown]>([
    ['bypasses that are not a list', { ruleId: 'r1' }],
    ['a bypass without its effect', [{ ruleId: 'r1', why: 'missing' }]],
    ['a bypass with a reason of a newer server', [{ ruleId: 'r1', why: 'over_budget', did: 'allow' }]],
  ])('does not pass with %s', async (_name, bypasses) => {
    const server = new TestPlatform().answer(() => ({ ...allow(), bypasses }) as ReturnType<typeof allow>);
    const run = await (await server.client({ failMode: 'closed' })).startRun();
    expect(await run.beforeTool('t', {})).toMatchObject({ verdict: 'BLOCK', source: 'fallback' });
  });
});
