import { describe, expect, it } from '@jest/globals';
import { TEST_CONNECTION } from '../testing/control-endpoint.ts';
import { settle, TestPlatform } from '../testing/index.ts';
import { signAcknowledgement } from '../wire/sign-acknowledgement.ts';

describe('an order', () => {
  it('stops a run in the middle, without asking the server, and is acknowledged once', async () => {
    const server = new TestPlatform();
    const client = await server.client();
    const [run, other] = [await client.startRun({ runId: 'a' }), await client.startRun({ runId: 'b' })];
    await settle();
    expect(client.status).toMatchObject({ control: 'stream', connected: true });
    const orderId = server.control.kill('a', 'out of hand');
    await settle();
    expect([run.signal.aborted, other.signal.aborted]).toEqual([true, false]);
    expect(await run.beforeTool('t', {})).toMatchObject({
      verdict: 'BLOCK',
      control: 'TERMINATE',
      cause: { kind: 'LOCKDOWN', lockdownId: orderId },
      message: 'This run was stopped: out of hand',
      source: 'local',
    });
    await expect(run.beforeLlm([])).rejects.toMatchObject({ name: 'AgentStopped' });
    expect(await other.beforeTool('t', {})).toMatchObject({ verdict: 'ALLOW' });
    const { instanceId } = client;
    const acknowledged = { directiveId: orderId, agentId: 'agent-1', instanceId };
    const signature = await signAcknowledgement(TEST_CONNECTION, { ...acknowledged, version: 1 });
    expect(server.control.acknowledgements).toEqual([{ ...acknowledged, mac: signature?.mac ?? 'none' }]);
  });

  it('also stops the call whose decision was pending when it arrived', async () => {
    const server = new TestPlatform();
    const { http } = server;
    // The server's ALLOW is on its way while the order overtakes it.
    const overtaken: typeof http.call = async (asked) => {
      const answer = await http.call(asked);
      if (asked.url.endsWith('/evaluate')) server.control.kill('r', 'too late');
      await settle();
      return answer;
    };
    const client = await server.client({ runtime: { http: { ...http, call: overtaken } } });
    const run = await client.startRun({ runId: 'r' });
    await settle();
    expect(await run.beforeTool('t', {})).toMatchObject({
      verdict: 'BLOCK',
      message: 'This run was stopped: too late',
    });
    await expect(run.beforeLlm([])).rejects.toMatchObject({ name: 'AgentStopped' });
  });

  it('pauses the agent until it is resumed', async () => {
    const server = new TestPlatform();
    const run = await (await server.client()).startRun();
    server.control.pause('lunch');
    await settle();
    expect(await run.beforeTool('t', {})).toMatchObject({ verdict: 'BLOCK', message: 'This run was paused: lunch' });
    expect(run.signal.aborted).toBe(false);
    server.control.resume();
    await settle();
    expect(await run.beforeTool('t', {})).toMatchObject({ verdict: 'ALLOW' });
  });

  it('only shadows in shadow mode', async () => {
    const server = new TestPlatform();
    const run = await (await server.client({ enforceMode: 'shadow' })).startRun();
    server.control.kill(run.id);
    await settle();
    expect(await run.beforeTool('t', {})).toMatchObject({ verdict: 'ALLOW', shadowed: { verdict: 'BLOCK' } });
    expect(run.signal.aborted).toBe(false);
  });

  it('can choose another model', async () => {
    const server = new TestPlatform();
    const client = await server.client();
    const run = await client.startRun();
    server.control.useModel('small');
    await settle();
    expect([run.modelOverride, client.modelOverride]).toEqual(['small', 'small']);
    server.control.useModel(null);
    await settle();
    expect(run.modelOverride).toBeNull();
  });

  it('stays in force while the server is unavailable', async () => {
    const server = new TestPlatform();
    const run = await (await server.client()).startRun();
    server.control.killAgent();
    await settle();
    server.fail('down');
    expect(await run.beforeTool('t', {})).toMatchObject({ verdict: 'BLOCK', source: 'local' });
  });

  it('is acknowledged even if a decision mentioned it first and the run has ended', async () => {
    const server = new TestPlatform();
    const client = await server.client();
    const run = await client.startRun();
    await settle();
    await run.end('interrupted');
    const orderId = server.control.kill(run.id);
    await settle();
    expect(server.control.acknowledgements).toMatchObject([{ directiveId: orderId, instanceId: client.instanceId }]);
  });

  it('is not acknowledged by a process that does not have the run', async () => {
    const server = new TestPlatform();
    await server.client();
    server.control.kill('another run');
    await settle();
    expect(server.control.acknowledgements).toEqual([]);
  });
});

describe('when streams are blocked', () => {
  it.each([
    ['the server offers none', 404],
    ['a proxy answers', 'nonsense'],
  ] as const)('polls for orders because %s', async (_, failure) => {
    const server = new TestPlatform();
    server.fail(failure, (path) => path === '/v1/control/stream');
    const client = await server.client();
    const run = await client.startRun();
    await server.clock.advance(1_000);
    expect(client.status.control).toBe('poll');
    server.control.kill(run.id);
    await settle();
    expect(run.signal.aborted).toBe(true);
    await client.shutdown();
  });

  it('still requests decisions if polling fails too', async () => {
    const server = new TestPlatform();
    server.fail(404, (path) => path.startsWith('/v1/control'));
    const client = await server.client();
    await server.clock.advance(1_000);
    expect(client.status.control).toBe('none');
    expect(await (await client.startRun()).beforeTool('t', {})).toMatchObject({ source: 'remote' });
  });

  it('warns once about a key that may not listen', async () => {
    const server = new TestPlatform();
    const warnings: string[] = [];
    server.fail(403, (path) => path.startsWith('/v1/control'));
    await server.client({ logger: { warn: (message) => warnings.push(message) } });
    await server.clock.advance(60_000);
    expect(warnings).toEqual([expect.stringContaining('may not receive orders (403)')]);
  });
});

describe('a broken connection', () => {
  it('is restored and resumes where it was', async () => {
    const server = new TestPlatform();
    server.fail('down', (path) => path === '/v1/control/stream');
    const client = await server.client();
    const run = await client.startRun();
    server.control.kill(run.id);
    await server.clock.advance(100);
    expect(run.signal.aborted).toBe(false);
    server.fail('none');
    await server.clock.advance(20_000);
    expect(run.signal.aborted).toBe(true);
  });

  it('is detected by its silence', async () => {
    const server = new TestPlatform();
    const client = await server.client();
    await settle();
    server.control.pause();
    await settle();
    await server.clock.advance(40_000);
    const streams = server.calls.filter(({ path }) => path.startsWith('/v1/control/stream'));
    expect(streams.length).toBeGreaterThan(1);
    expect(streams.at(-1)?.headers['last-event-id']).toBe('1');
    await client.shutdown();
  });
});
