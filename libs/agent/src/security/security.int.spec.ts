import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Agent } from '../agent/agent.ts';
import { sqliteDriver } from '../backends/sqlite/connection.ts';
import { connectorTool } from '../connectors/connector.ts';
import { httpConnector } from '../connectors/http.ts';
import { sqlConnector } from '../connectors/sql.ts';
import { AgentContext } from '../core/agent-context.ts';
import { liveEffects } from '../effects/effects.ts';
import { deniedHost, secret } from '../host/host.ts';
import { HttpHost } from '../host/http-host.ts';
import { localHost } from '../host/local-host.ts';
import { InMemoryDatabaseClient } from '../memory/in-memory-database-client.ts';
import { InMemoryMemoryClient } from '../memory/in-memory-memory-client.ts';
import { DATABASE, MEMORY } from '../memory/memory-client.ts';
import { traceTo } from '../metrics/metrics.ts';
import { PermissionManager } from '../permissions/permission-manager.ts';
import { PermissionRule } from '../permissions/rule.ts';
import { Cassette } from '../replay/cassette.ts';
import { AgentRuntime } from '../runtime/agent-runtime.ts';
import { patternFilter } from '../safety/content-filter.ts';
import { AgentSession } from '../session/agent-session.ts';
import { FileSessionStore } from '../session/file-session-store.ts';
import { ScriptedModel } from '../testing/scripted-model.ts';
import { tool } from '../tools/tool.ts';
import { ToolRegistry } from '../tools/tool-registry.ts';
import { Roles } from './roles.ts';

const CANARY = 'canary-4711-value';
let server: Server;
let url: string;
let folder: string;
let asked: string[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'agent-security-'));
  server = createServer((request, response) => {
    asked.push(String(request.headers['x-key']));
    response.setHeader('x-echo', String(request.headers['x-key']));
    if (request.url === '/redirect') response.writeHead(302, { location: '/elsewhere' });
    response.end(`you sent ${String(request.headers['x-key'])}`);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(async () => {
  server.close();
  await rm(folder, { recursive: true, force: true });
});

describe('a secret', () => {
  it('is in no file, event, prompt, result or recording, even if the server echoes it', async () => {
    asked = [];
    const host = localHost({
      root: folder,
      network: { allow: ['127.0.0.1'], networks: ['127.0.0.1/32'] },
      secrets: (name) => (name === 'KEY' ? CANARY : undefined),
    });
    const model = new ScriptedModel([
      { toolCalls: [{ name: 'http', input: { url, headers: { 'X-Key': 'mine', 'x-other': 'a' } } }] },
      { text: 'ok' },
    ]);
    const runtime = new AgentRuntime({ host, store: new FileSessionStore(join(folder, 'sessions')) });
    const agent = new Agent({
      id: 'a',
      taskPrompt: 'x',
      tools: [httpConnector({ headers: { 'x-key': secret('KEY') } })],
      permissions: [PermissionRule.allowTool('http')],
      modelProviders: [model],
      runtime,
    });
    const cassette = new Cassette();
    const active = agent.createSession({ record: cassette, events: 'inline' });
    const tracing = traceTo(await active.start(), join(folder, 'trace.jsonl'));
    const result = await active.run();
    await active[Symbol.asyncDispose]();
    await tracing;
    expect(result.success).toBe(true);
    // The owner's header is sent, not the model's.
    expect(asked).toEqual([CANARY]);
    expect(JSON.stringify(result)).toContain('[secret KEY]');
    const files = await readdir(folder, { recursive: true, withFileTypes: true });
    const texts = await Promise.all(
      files.filter((file) => file.isFile()).map((file) => readFile(join(file.parentPath, file.name), 'utf8')),
    );
    for (const text of [JSON.stringify(result), JSON.stringify(cassette), JSON.stringify(model.requests), ...texts])
      expect(text).not.toContain(CANARY);
    await host.close();
  });

  it('is reported if missing, and nothing is sent', async () => {
    asked = [];
    const host = new HttpHost({ allow: ['127.0.0.1'], networks: ['127.0.0.1/32'], secrets: () => undefined });
    await expect(host.send({ method: 'GET', url, headers: { 'x-key': secret('NONE') } })).rejects.toMatchObject({
      code: 'invalid_config',
      message: expect.stringContaining('NONE'),
    });
    expect(asked).toEqual([]);
    await host.close();
  });
});

describe('the network of a host', () => {
  it.each([
    ['http://169.254.169.254/latest/meta-data', ['169.254.169.254']],
    ['http://localhost:1/', ['localhost']],
    ['http://[::1]:1/', ['[::1]']],
    ['http://10.0.0.1/', ['*']],
    ['http://example.org/', ['example.com']],
    ['http://evilexample.com/', ['*.example.com']],
    ['file:///etc/passwd', ['*']],
  ])('refuses %s', async (address, allow) => {
    const host = new HttpHost({ allow });
    await expect(host.send({ method: 'GET', url: address })).rejects.toMatchObject({ code: 'denied_by_host' });
    await host.close();
  });

  it('follows no redirect and accepts no other methods', async () => {
    const host = new HttpHost({ allow: ['127.0.0.1'], networks: ['127.0.0.1/32'] });
    expect(await host.send({ method: 'GET', url: `${url}/redirect` })).toMatchObject({ status: 302 });
    await expect(host.send({ method: 'DELETE', url })).rejects.toMatchObject({ code: 'invalid_input' });
    await expect(host.send({ method: 'GET', url: 'nonsense' })).rejects.toMatchObject({ code: 'invalid_input' });
    await host.close();
  });
});

describe('roles', () => {
  const roles = new Roles({
    owner: {
      'agent.create': ['*'],
      'tool.register': ['*'],
      'rule.edit': ['*'],
      'session.input': ['*'],
      'session.read': ['*'],
      'permission.answer': ['*'],
    },
    reader: { 'session.read': ['coder'], 'memory.read': ['notes*'] },
  });
  const owner = { id: 'ann', roles: ['owner'] };
  const reader = { id: 'bob', roles: ['reader'] };
  const forbidden = expect.objectContaining({ code: 'forbidden' });

  it('decide who creates, reads, instructs and answers for agents', async () => {
    const runtime = new AgentRuntime({ roles });
    const loop = async (internals: { receive(): Promise<unknown> }) => void (await internals.receive());
    expect(() => runtime.spawn(new AgentSession('coder'), loop)).toThrow(forbidden);
    expect(() => runtime.spawn(new AgentSession('coder'), loop, { by: reader })).toThrow(forbidden);
    const { sessionId } = runtime.spawn(new AgentSession('coder'), loop, { by: owner });
    const read = runtime.getFor(reader, sessionId);
    expect(read?.getHistory()).toEqual([]);
    expect(() => read?.sendInput('hi')).toThrow(forbidden);
    expect(() => read?.interrupt()).toThrow(forbidden);
    expect(() => read?.respondToPermission({ requestId: 'x', decision: 'allow' })).toThrow(forbidden);
    expect(() => runtime.getFor(undefined, sessionId)?.getHistory()).toThrow(forbidden);
    expect(runtime.getFor(owner, 'none')).toBeUndefined();
    runtime.getFor(owner, sessionId)?.sendInput('hi');
    await runtime.getFor(owner, sessionId)?.finished;
  });

  it('decide who registers tools and edits rules', () => {
    const noop = tool({ name: 'noop', description: '', input: { type: 'object' }, execute: () => null });
    const registry = new ToolRegistry([], { roles });
    expect(() => registry.register(noop, { by: reader })).toThrow(forbidden);
    registry.register(noop, { by: owner });
    const permissions = new PermissionManager({ rules: [PermissionRule.denyTool('noop')], roles });
    expect(() => permissions.removeRule('deny tool noop', { by: reader })).toThrow(forbidden);
    expect(() => permissions.addRule(PermissionRule.allowTool('noop'))).toThrow(forbidden);
    expect(permissions.removeRule('deny tool noop', { by: owner })).toBe(true);
  });

  it('decide what an agent stores and reads', async () => {
    const recall = tool({
      name: 'recall',
      description: '',
      input: { type: 'object' },
      requiresPermission: false,
      execute: async (_input, context) => [
        await context.getResource(MEMORY)?.read('notes'),
        await context.getResource(MEMORY)?.append('notes', 'x'),
      ],
    });
    const runtime = new AgentRuntime({
      roles: new Roles({ reader: { 'memory.read': ['notes'], 'agent.create': ['*'] } }),
    });
    const agent = new Agent({
      id: 'a',
      taskPrompt: 'x',
      tools: [recall],
      memoryClient: new InMemoryMemoryClient(),
      role: { id: 'a', roles: ['reader'] },
      runtime,
      modelProviders: [new ScriptedModel([{ toolCalls: [{ name: 'recall', input: {} }] }, { text: 'ok' }])],
    });
    const result = await agent.run();
    expect(result.actions).toMatchObject([{ isError: true, code: 'forbidden' }]);
  });
});

describe('what an agent stores', () => {
  it('is cleaned of secrets, dropped by the policy, and expires', async () => {
    let nowMs = 0;
    const memory = new InMemoryMemoryClient({ now: () => nowMs });
    const database = new InMemoryDatabaseClient();
    const keep = tool<{ text: string }>({
      ...{ name: 'keep', description: '', input: { type: 'object' }, requiresPermission: false },
      execute: async ({ text }, context) => {
        await context.getResource(MEMORY)?.append('notes', text);
        await context.getResource(DATABASE)?.write('notes', 'last', text);
        return 'kept';
      },
    });
    const calls = ['write to ann@mail.example', 'how to build a bomb', 'fine'].map((text) => ({
      name: 'keep',
      input: { text },
    }));
    const agent = new Agent({
      ...{ id: 'a', taskPrompt: 'x', tools: [keep], memoryClient: memory, databaseClient: database },
      safety: {
        contentFilter: [patternFilter({ name: 'bombs', patterns: ['bomb'], phases: ['memory-write'] })],
        retention: { ttlMs: 1_000 },
      },
      modelProviders: [new ScriptedModel([...calls.map((call) => ({ toolCalls: [call] })), { text: 'ok' }])],
    });
    const result = await agent.run({ events: 'inline' });
    expect((await memory.read('notes')).map(({ entry }) => entry)).toEqual(['write to [email]', 'fine']);
    expect((await database.read('notes', 'last'))?.value).toBe('fine');
    expect(result.memoryDeltas.map(({ store, dropped }) => [store, dropped])).toEqual([
      ...[
        ['memory', false],
        ['database', false],
        ['memory', true],
        ['database', true],
        ['memory', false],
        ['database', false],
      ],
    ]);
    expect(result.actions[1]).toMatchObject({ code: 'blocked_by_safety' });
    nowMs = 1_001;
    expect(await memory.read('notes')).toEqual([]);
  });
});

describe('the SQL connector', () => {
  it('runs one statement at a time, read-only unless opened for writing', async () => {
    const path = join(folder, 'data.sqlite');
    const writing = sqliteDriver({ path, write: true });
    const context = new AgentContext({
      sessionId: 's',
      agentType: 'a',
      host: deniedHost,
      effects: liveEffects(),
      signal: new AbortController().signal,
    });
    const registry = new ToolRegistry([connectorTool(sqlConnector({ driver: writing, write: true, id: 'sql_write' }))]);
    const run = async (name: string, statement: string, parameters: readonly (string | number)[] = []) =>
      registry.execute(name, { statement, parameters }, context);
    await run('sql_write', 'CREATE TABLE t (n INTEGER, s TEXT)');
    for (let n = 0; n < 5; n++) await run('sql_write', 'INSERT INTO t VALUES (?, ?)', [n, "a'; DROP TABLE t; --"]);
    const reading = sqliteDriver({ path });
    registry.register(sqlConnector({ driver: reading, maxRows: 2 }));
    expect(await run('sql', 'SELECT n FROM t WHERE n > ? ORDER BY n;', [1])).toMatchObject({
      output: { rows: [{ n: 2 }, { n: 3 }], cut: true },
    });
    for (const statement of [
      'DELETE FROM t',
      'SELECT 1; DELETE FROM t',
      "ATTACH 'x' AS y",
      'PRAGMA query_only = 0',
      'WITH x AS (SELECT 1) DELETE FROM t',
      'nonsense',
    ])
      expect({ statement, ...(await run('sql', statement)) }).toMatchObject({ statement, isError: true });
    expect(await run('sql', 'SELECT count(*) AS n FROM t')).toMatchObject({ output: { rows: [{ n: 5 }] } });
    reading.close();
    writing.close();
  });
});
