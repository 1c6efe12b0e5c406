import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually, freePort } from '@agentlens/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Program } from './support/program.ts';

const READY = 'Stop with Ctrl-C';

describe('npm start', () => {
  let dataDir: string;
  let env: Record<string, string>;
  const running: Program[] = [];

  beforeAll(async () => {
    expect(await Program.run('scripts/build.mjs').ended()).toBe(0);
    dataDir = await mkdtemp(join(tmpdir(), 'agentlens-start-'));
    env = {
      AGENTLENS_DATA_DIR: dataDir,
      AGENTLENS_HTTP_PORT: String(await freePort()),
      AGENTLENS_EGRESS_ALLOW: '127.0.0.1/32',
    };
  });
  afterEach(async () => {
    await Promise.all(running.splice(0).map((program) => program.signal('SIGINT')));
  });
  afterAll(() => rm(dataDir, { recursive: true, force: true }));

  const start = async (more: Record<string, string> = {}) => {
    const program = Program.run('scripts/start.mjs', { ...env, ...more });
    running.push(program);
    return { program, banner: await program.until(READY) };
  };

  it('prints an address, a key and working commands, drains on Ctrl-C with 0, and keeps its data', async () => {
    const first = await start();
    expect(first.banner).toContain(`http://127.0.0.1:${env.AGENTLENS_HTTP_PORT}`);
    expect(first.banner).toContain(dataDir);
    const key = /agk_live_\w+/.exec(first.banner)?.[0];
    expect((await stat(join(dataDir, 'api-key'))).mode & 0o777).toBe(0o600);
    const [rule, events, agent, history] = commandsIn(first.banner, key);
    expect(await rule?.()).toMatchObject({ name: 'Half of its calls fail' });
    expect(await events?.()).toMatchObject({ ingested: 5 });
    await eventually(async () => {
      expect(await history?.()).toMatchObject({ triggers: [{ actionResult: 'success' }] });
      expect(await agent?.()).toMatchObject({ pauseReason: 'Paused by my first rule' });
    });
    expect(await first.program.signal('SIGINT')).toBe(0);

    const second = await start();
    expect(second.banner).not.toContain('agk_live_');
    expect(second.banner).toContain(`in ${join(dataDir, 'api-key')}`);
    expect(await commandsIn(second.banner, key)[3]?.()).toMatchObject({ triggers: [{ actionResult: 'success' }] });
  });

  it('starts again after a kill -9', async () => {
    const first = await start();
    await first.program.signal('SIGKILL');
    const second = await start();
    const key = (await readFile(join(dataDir, 'api-key'), 'utf8')).trim();
    expect(await commandsIn(second.banner, key)[3]?.()).toMatchObject({ triggers: expect.any(Array) });
  });

  it('has charged what it acknowledged, also after a kill -9', async () => {
    const first = await start();
    const key = (await readFile(join(dataDir, 'api-key'), 'utf8')).trim();
    const call = async (method: string, path: string, body?: object) => {
      const answer = await fetch(`http://127.0.0.1:${env.AGENTLENS_HTTP_PORT}${path}`, {
        method,
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      expect(answer.status).toBeLessThan(300);
      return (await answer.json()) as { readonly id: string; readonly pots: readonly object[] };
    };
    const draft = { name: 'kill', scope: 'agent', scopeId: 'spender', period: 'day', limitUsd: 100 };
    const { id } = await call('POST', '/api/budgets', draft);
    const cost = { provider: 'p', model: 'm', inputTokens: 1, outputTokens: 1, totalTokens: 2, costUsd: 0.25 };
    const event = { agentId: 'spender', sessionId: 'run-1', eventType: 'cost_tracked', payload: cost };
    for (let n = 0; n < 20; n++) await call('POST', '/api/events', { events: [event] });
    await first.program.signal('SIGKILL');
    await start();
    expect((await call('GET', `/api/budgets/${id}`)).pots).toMatchObject([{ spentUsd: 5 }]);
  });

  it('writes no key into traces, even one from the address', async () => {
    const { program } = await start({ OTEL_TRACES_EXPORTER: 'console' });
    const key = (await readFile(join(dataDir, 'api-key'), 'utf8')).trim();
    const address = `http://127.0.0.1:${env.AGENTLENS_HTTP_PORT}`;
    for (const path of ['/api/stream', '/api/alerts/stream']) {
      const answer = await fetch(`${address}${path}?%74oken=${key}`);
      expect([answer.status, answer.headers.get('x-content-type-options')]).toEqual([200, 'nosniff']);
      await answer.body?.cancel();
    }
    // Buffered traces are written at shutdown.
    await program.signal('SIGINT');
    expect(program.printed).toContain('token=REDACTED');
    expect(program.printed).not.toContain(key);
  });

  it('shows the story of the demo', async () => {
    await start();
    const demo = Program.run('scripts/agentlens.mjs', env, ['demo', '--wait', '1']);
    expect({ code: await demo.ended(), printed: demo.printed }).toMatchObject({ code: 0 });
    for (const part of [
      'tool_error',
      'fires: Error rate',
      'signature fine',
      'was paused:',
      'requests approval',
      'denied by',
      'notify_webhook success',
    ]) {
      expect(demo.printed).toContain(part);
    }
  });

  it('reports clearly that the data folder or the port is in use, or that a setting is misspelt', async () => {
    await start();
    const sameFolder = Program.run('scripts/start.mjs', { ...env, AGENTLENS_HTTP_PORT: '0' });
    expect(await sameFolder.ended()).toBe(1);
    expect(sameFolder.printed).toContain('in use by another AgentLens process');

    const samePort = Program.run('scripts/start.mjs', { ...env, AGENTLENS_DATA_DIR: join(dataDir, 'other') });
    expect(await samePort.ended()).toBe(1);
    expect(samePort.printed).toContain(`Port ${env.AGENTLENS_HTTP_PORT} is in use by another program`);

    const misspelt = Program.run('scripts/start.mjs', { ...env, AGENTLENS_DATADIR: dataDir });
    expect(await misspelt.ended()).toBe(1);
    expect(misspelt.printed).toContain('Did you mean AGENTLENS_DATA_DIR?');
  });
});

/** The banner's commands, each as a function that sends what `curl` would with this key in `$KEY`. */
function commandsIn(banner: string, key = ''): (() => Promise<unknown>)[] {
  const form =
    /^curl -sS (\S+) -H "Authorization: (Bearer \S+)"(?: -H '(Content-Type): (\S+)' \\\n {2}-d '(.+)')?; echo$/gm;
  return [...banner.matchAll(form)].map(([, url = '', authorization = '', , type, body]) => async () => {
    const headers = {
      authorization: authorization.replace('$KEY', key),
      ...(type === undefined ? {} : { 'content-type': type }),
    };
    const answer = await fetch(url, { method: body === undefined ? 'GET' : 'POST', headers, body });
    expect(answer.status).toBeLessThan(300);
    return answer.json();
  });
}
