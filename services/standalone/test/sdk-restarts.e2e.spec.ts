import { connect, createServer, type Server, type Socket } from 'node:net';
import { AgentLens, type AgentLensClient, defineTool, type Run, wrapTool } from '@agentlens/sdk';
import { eventually } from '@agentlens/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Client } from './support/client.ts';
import { startEmbedded } from './support/embedded.ts';
import type { PlatformUnderTest } from './support/platform-under-test.ts';

/** A stable address in front of a platform whose port changes with a restart, like a load balancer. */
async function addressBefore(platform: PlatformUnderTest): Promise<Server> {
  const server = createServer((socket) => {
    const { hostname, port } = new URL(platform.edges[0] ?? '');
    const upstream = connect(Number(port), hostname);
    const cut = (one: Socket, other: Socket) =>
      one.on('error', () => other.destroy()).on('close', () => other.destroy());
    cut(socket, upstream);
    cut(upstream, socket);
    socket.pipe(upstream).pipe(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}

/** Runs continue while one side or the other is restarted. */
describe('a restart in the middle of a run', () => {
  let platform: PlatformUnderTest;
  let people: Client;
  let key: string;
  let address: Server;
  const clients: AgentLensClient[] = [];

  beforeAll(async () => {
    platform = await startEmbedded();
    people = new Client(platform, (await platform.keyOf('restarts', 'admin')).key);
    ({ key } = await platform.keyOf('restarts', 'ingest', 'decide'));
    address = await addressBefore(platform);
    await people.post('/api/guardrails', {
      ...{ name: 'Nothing is deleted', conditionType: 'tool_name', conditionConfig: { value: 'delete_*' } },
      ...{ actionType: 'block', actionConfig: {} },
    });
    await eventually(async () => expect(await platform.ruleCounts()).toEqual([1]));
  });
  afterEach(async () => {
    await Promise.all(clients.splice(0).map((client) => client.shutdown()));
  });
  afterAll(async () => {
    await new Promise((resolve) => address?.close(resolve));
    await platform?.stop();
  });

  /** Starts one process of the agent. */
  async function aProcess(): Promise<AgentLensClient> {
    const { port } = address.address() as { port: number };
    const client = await AgentLens.init({
      ...{ apiKey: key, baseUrl: `http://127.0.0.1:${port}`, agent: { slug: 'phoenix' }, deadlineMs: 10_000 },
      failMode: 'closed',
    });
    clients.push(client);
    await eventually(() => expect(client.status.connected).toBe(true));
    return client;
  }

  const toolOf = (run: Run, name: string, done: string[]) =>
    wrapTool(defineTool({ name, execute: ({ of }: { of: string }) => done.push(`${name} ${of}`) }), { run });

  it('of the platform: rules apply, orders arrive, and no event is missing', async () => {
    const client = await aProcess();
    const run = await client.startRun();
    const done: string[] = [];
    const [search, remove] = [toolOf(run, 'search', done), toolOf(run, 'delete_file', done)];
    await search({ of: 'a' });
    run.record('note', { said: 'before' });
    await platform.restart();
    run.record('note', { said: 'after' });
    await eventually(async () => expect(await platform.ruleCounts()).toEqual([1]));
    await eventually(() => expect(client.status.connected).toBe(true));
    // It reconnects by itself; until then a question fails closed and the tool does not run.
    await eventually(async () =>
      expect(await run.beforeTool('search', { of: 'b' })).toMatchObject({ verdict: 'ALLOW' }),
    );
    expect(await remove({ of: 'a' })).toMatchObject({ code: 'AGENTLENS_TOOL_BLOCKED' });
    const order = { scope: 'run', id: run.id, state: 'killed', waitMs: 10_000 };
    await eventually(async () =>
      expect(await people.post('/api/control', order)).toMatchObject({ body: { acknowledged: 1 } }),
    );
    expect(run.signal.aborted).toBe(true);
    expect(done).toEqual(['search a']);
    await run.end('interrupted');
    await client.drain(10_000);
    expect(client.status.events).toMatchObject({ dropped: 0, waiting: 0 });
    await eventually(async () => {
      const { body } = await people.get(`/api/runs/${run.id}/events?limit=500`);
      const notes = body.events.filter(({ eventType }: { eventType: string }) => eventType === 'note');
      expect(notes.map(({ payload }: { payload: { said: string } }) => payload.said).toSorted()).toEqual([
        'after',
        'before',
      ]);
    });
  });

  it('of the agent: the same run continues once in another process, and a killed one stays killed', async () => {
    const done: string[] = [];
    const first = await aProcess();
    const run = await first.startRun({ runId: 'goes-on' });
    await toolOf(run, 'search', done)({ of: 'a' });
    // The process is gone: its sent events are stored, and its end was never reported.
    await first.drain(10_000);
    const again = await (await aProcess()).startRun({ runId: 'goes-on' });
    await toolOf(again, 'search', done)({ of: 'b' });
    await again.end('success');
    await eventually(async () => {
      const { body } = await people.get('/api/runs/goes-on');
      expect(body).toMatchObject({ status: 'succeeded', totals: { toolCalls: 2 } });
      const { events } = (await people.get('/api/runs/goes-on/events?limit=500')).body;
      expect(events.filter(({ eventType }: { eventType: string }) => eventType === 'run.started')).toHaveLength(1);
    });
    await people.post('/api/control', { scope: 'run', id: 'goes-on', state: 'killed', waitMs: 0 });
    await eventually(async () => {
      const third = await (await aProcess()).startRun({ runId: 'goes-on' });
      expect(third.controlState).toMatchObject({ state: 'killed' });
      expect(await toolOf(third, 'search', done)({ of: 'c' })).toMatchObject({ code: 'AGENTLENS_RUN_ENDED' });
    });
    expect(done).toEqual(['search a', 'search b']);
  });
});
