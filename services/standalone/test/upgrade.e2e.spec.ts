import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { migrateUpTo } from '@agentlens/database';
import { loadConfig } from '@agentlens/platform';
import { eventually, type FreshDatabase, freshDatabase, insertRecordedRows } from '@agentlens/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type Standalone, startStandalone } from '../src/index.ts';
import { Client } from './support/client.ts';
import { makeKey } from './support/embedded.ts';
import { failure, spending } from './support/events.ts';
import { ruleCountOf } from './support/loaded-settings.ts';

/** The data of release 0.1.0: two rules, a budget of $5 with $1.5 spent, two keys, a run. */
const RECORDED = new URL('../../../libs/database/src/recordings/release-0.1.0.json', import.meta.url);
const LAST_OF_RELEASE = '0010-room-in-runs';

function started(env: Record<string, string>): Promise<Standalone> {
  return startStandalone(loadConfig('standalone', { AGENTLENS_HTTP_PORT: '0', AGENTLENS_LOG_LEVEL: 'error', ...env }));
}

/** The amount spent from the only budget. */
async function spentOf(client: Client): Promise<number | undefined> {
  const { budgets } = (await client.get('/api/budgets')).body;
  return (await client.get(`/api/budgets/${budgets[0]?.id}`)).body.pots[0]?.spentUsd;
}

describe('the platform on a database of release 0.1.0', () => {
  let database: FreshDatabase;
  let platform: Standalone;
  let admin: Client;
  beforeAll(async () => {
    database = await freshDatabase({ migrate: (url) => migrateUpTo(url, LAST_OF_RELEASE) });
    await insertRecordedRows(database.url, RECORDED);
    platform = await started({ DATABASE_URL: database.url });
    const { key } = await makeKey(platform.platform, 'default', ['admin']);
    admin = new Client({ addressFor: () => platform.address }, key);
    await eventually(async () => expect(await ruleCountOf(platform.platform)).toBe(2));
  });
  afterAll(async () => {
    await platform?.stop();
    await database?.drop();
  });

  it('continues with its rules: one blocks a call, one pauses an agent', async () => {
    const question = { phase: 'tool.before', agentId: 'bot', tool: { name: 'delete_all' }, args: {} };
    expect(await admin.post('/v1/runs/new-run/evaluate', question)).toMatchObject({ body: { verdict: 'BLOCK' } });

    expect(await admin.post('/api/events', { events: [failure('failing', 'failing-run')] })).toMatchObject({
      status: 201,
    });
    await eventually(async () => {
      expect(await admin.get('/api/agents/failing')).toMatchObject({ body: { control: { state: 'paused' } } });
    });
  });

  it('continues with its budget: what was spent stays spent', async () => {
    const question = {
      phase: 'llm.before',
      agentId: 'buyer',
      tool: { name: 'gpt-4o' },
      args: {},
      estimate: { costUsd: 4 },
    };
    expect(await admin.post('/v1/runs/buying/evaluate', question)).toMatchObject({ body: { verdict: 'BLOCK' } });
    expect(await admin.post('/api/events', { events: [spending('buyer', 'buying', 1)] })).toMatchObject({
      status: 201,
    });
    await eventually(async () => {
      expect(await spentOf(admin)).toBe(2.5);
    });
  });
});

describe('a copy of the data folder, made while the platform was stopped', () => {
  let folders: string;
  let platform: Standalone | undefined;
  beforeEach(async () => {
    folders = await mkdtemp(join(tmpdir(), 'agentlens-backup-'));
  });
  afterEach(async () => {
    await platform?.stop();
    await rm(folders, { recursive: true, force: true });
  });

  it('is a backup with rules, keys, runs and spending', async () => {
    platform = await started({ AGENTLENS_DATA_DIR: join(folders, 'first') });
    const { key } = platform.key as { key: string };
    const client = () => new Client({ addressFor: () => platform?.address ?? '' }, key);
    const rule = {
      name: 'No deletes',
      conditionType: 'tool_name',
      conditionConfig: { value: 'delete_all' },
      actionType: 'block',
    };
    expect(await client().post('/api/guardrails', rule)).toMatchObject({ status: 201 });
    const budget = { name: 'Team', scope: 'tenant', period: 'total', limitUsd: 5 };
    expect(await client().post('/api/budgets', budget)).toMatchObject({ status: 201 });
    expect(await client().post('/api/events', { events: [spending('buyer', 'kept-run', 1.5)] })).toMatchObject({
      status: 201,
    });
    const spent = async () => {
      expect(await client().get('/api/runs/kept-run')).toMatchObject({
        status: 200,
        body: { totals: { costUsd: 1.5 } },
      });
      expect(await spentOf(client())).toBe(1.5);
    };
    await eventually(spent);
    await platform.stop();
    platform = undefined;

    await promisify(execFile)('cp', ['-a', join(folders, 'first'), join(folders, 'second')]);
    await rm(join(folders, 'first'), { recursive: true });
    platform = await started({ AGENTLENS_DATA_DIR: join(folders, 'second') });

    await eventually(spent);
    const question = { phase: 'tool.before', agentId: 'bot', tool: { name: 'delete_all' }, args: {} };
    await eventually(async () => {
      expect(await client().post('/v1/runs/after/evaluate', question)).toMatchObject({ body: { verdict: 'BLOCK' } });
    });
  });
});
