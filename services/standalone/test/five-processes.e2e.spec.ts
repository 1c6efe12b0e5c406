import { randomUUID } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { STREAMS } from '@agentlens/contracts';
import { eventually, freePort } from '@agentlens/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { connect } from '@nats-io/transport-node';
import { failure, pauseRule } from './support/events.ts';
import { Program } from './support/program.ts';

const START_MS = 900_000;
const STORY_MS = 240_000;
const SETTLE_MS = 60_000;
const SERVICES = [
  'run-tracking',
  'guardrail-evaluator',
  'action-dispatcher',
  'backtester',
  'query',
  'ingest',
  'model-gateway',
];
const EVENTS_PER_REQUEST = 5;
const RETRY_MS = 50;

interface StreamInfo {
  /** Messages by subject. */
  readonly state: { readonly subjects: Readonly<Record<string, number>> };
}

describe('npm run start:distributed', () => {
  let dataDir: string;
  let program: Program;
  let address: string;
  let headers: Record<string, string>;

  beforeAll(async () => {
    expect(await Program.run('scripts/build.mjs').ended()).toBe(0);
    dataDir = await mkdtemp(join(tmpdir(), 'agentlens-five-'));
    const port = await freePort();
    address = `http://127.0.0.1:${port}`;
    program = Program.run('scripts/start-distributed.mjs', {
      AGENTLENS_DATA_DIR: dataDir,
      AGENTLENS_HTTP_PORT: String(port),
    });
    const banner = await program.until('Ctrl-C stops everything');
    const key = /agk_live_\w+/.exec(banner)?.[0];
    headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  }, START_MS);
  afterAll(async () => {
    await program.signal('SIGINT');
    await rm(dataDir, { recursive: true, force: true });
  }, START_MS);

  const noted = async (name: string) => (await readFile(join(dataDir, 'distributed', name), 'utf8')).trim();
  const get = async (path: string) => (await fetch(`${address}${path}`, { headers })).json() as Promise<unknown>;

  it('has passwords for NATS and Redis, and all its files readable only by its user', async () => {
    const folder = join(dataDir, 'distributed');
    const files = ['api-key', 'nats-url', 'nats-password', 'redis-password', 'secret-key'];
    expect(await readdir(folder)).toEqual(expect.arrayContaining(files));
    for (const file of files) expect((await stat(join(folder, file))).mode & 0o077).toBe(0);
    expect(program.printed).not.toContain(await noted('nats-password'));
    const { hostname, port } = new URL(await noted('nats-url'));
    await expect(connect({ servers: `${hostname}:${port}`, maxReconnectAttempts: 0 })).rejects.toThrow(
      /authorization/i,
    );
  });

  it('hides probes and metrics of the services', async () => {
    for (const path of ['/readyz', '/readyz/', '/metrics', '/metrics/', '//metrics', '/%6Detrics'])
      expect((await fetch(`${address}${path}`)).status).toBe(404);
  });

  it('reports at once that its port is taken', async () => {
    const second = Program.run('scripts/start-distributed.mjs', {
      AGENTLENS_DATA_DIR: join(dataDir, 'second'),
      AGENTLENS_HTTP_PORT: new URL(address).port,
    });
    expect(await second.ended()).toBe(1);
    expect(second.printed).toContain('is in use');
    expect(second.printed).not.toContain('Starting NATS');
  });

  it(
    'loses no acknowledged event while each process is killed in turn, and triggers once',
    async () => {
      const { host, username, password } = new URL(await noted('nats-url'));
      const nats = await connect({ servers: host, user: username, pass: password });
      const triggerIds: string[] = [];
      nats.subscribe('guardrail.triggered.>', {
        callback: (_error, message) => {
          triggerIds.push(message.json<{ id: string }>().id);
        },
      });
      await nats.flush();
      const rule = await fetch(`${address}/api/guardrails`, {
        method: 'POST',
        headers,
        body: JSON.stringify(pauseRule({ conditionConfig: { threshold: 50, windowMinutes: 60, minEvents: 20 } })),
      });
      expect(rule.status).toBe(201);

      const flow = startFlow();
      for (const name of SERVICES) {
        const acknowledged = flow.acknowledged();
        process.kill(pidOf(name), 'SIGKILL');
        await program.until(`${name.padEnd(19)}  started again, pid `);
        await eventually(() => expect(flow.acknowledged()).toBeGreaterThan(acknowledged), { timeoutMs: SETTLE_MS });
      }
      await flow.stop();

      await eventually(
        async () => {
          expect(await get('/api/sessions/run-1')).toMatchObject({ eventCount: flow.acknowledged() });
          expect(await get('/api/guardrails/history')).toMatchObject({
            total: 1,
            triggers: [{ actionResult: 'success' }],
          });
        },
        { timeoutMs: SETTLE_MS },
      );
      // An evaluator that is killed between publishing and acknowledging publishes again. The stream keeps the trigger
      // once; subscribers without a stream recognise it by its id.
      expect(new Set(triggerIds).size).toBe(1);
      const question = JSON.stringify({ subjects_filter: 'guardrail.triggered.>' });
      const kept = (await nats.request(`$JS.API.STREAM.INFO.${STREAMS.GUARDRAILS.name}`, question)).json<StreamInfo>();
      expect(Object.values(kept.state.subjects)).toEqual([1]);
      await nats.close();
    },
    STORY_MS,
  );

  function pidOf(name: string): number {
    const pids = [...program.printed.matchAll(new RegExp(`^ *${name} +(?:started again, )?pid (\\d+)`, 'gm'))];
    const pid = Number(pids.at(-1)?.[1]);
    expect(pid).toBeGreaterThan(0);
    return pid;
  }

  /** Sends failing events until stopped. Like an SDK, it retries events that are not acknowledged. */
  function startFlow() {
    let acknowledged = 0;
    let going = true;
    const sendUntilTaken = async () => {
      const events = Array.from({ length: EVENTS_PER_REQUEST }, () => failure('bot', 'run-1', { id: randomUUID() }));
      const body = JSON.stringify({
        events: events.map((event) => ({ ...event, timestamp: new Date().toISOString() })),
      });
      for (;;) {
        const answer = await fetch(`${address}/api/events`, { method: 'POST', headers, body }).catch(() => undefined);
        if (answer?.status === 201) break;
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      }
      acknowledged += EVENTS_PER_REQUEST;
    };
    const flowing = (async () => {
      while (going) await sendUntilTaken();
    })();
    return {
      acknowledged: () => acknowledged,
      stop: () => {
        going = false;
        return flowing;
      },
    };
  }

  it(
    'stops everything on Ctrl-C with 0',
    async () => {
      expect(await program.signal('SIGINT')).toBe(0);
      for (const name of SERVICES) expect(() => process.kill(pidOf(name), 0)).toThrow('ESRCH');
    },
    START_MS,
  );
});
