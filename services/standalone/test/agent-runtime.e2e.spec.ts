import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '@agentlens/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Client } from './support/client.ts';
import { startEmbedded } from './support/embedded.ts';
import type { PlatformUnderTest } from './support/platform-under-test.ts';
import { storyOf } from './support/story.ts';

const EXAMPLE = join(import.meta.dirname, '../../../libs/agent/examples/guarded.mjs');

/** The example agent in its own process, and people at the operator API. */
describe('an agent of the agent runtime', () => {
  let platform: PlatformUnderTest;
  let people: Client;
  let key: string;
  let sessions: string;

  beforeAll(async () => {
    sessions = await mkdtemp(join(tmpdir(), 'agent-sessions-'));
    platform = await startEmbedded();
    people = new Client(platform, (await platform.keyOf('agents', 'admin')).key);
    ({ key } = await platform.keyOf('agents', 'ingest', 'decide'));
    for (const [name, value, actionType] of [
      ['Nothing is deleted', 'delete_*', 'block'],
      ['Payments need a human', 'pay', 'require_approval'],
    ])
      await people.post('/api/guardrails', {
        name,
        conditionType: 'tool_name',
        conditionConfig: { value },
        actionType,
        actionConfig: {},
      });
    await eventually(async () => expect(await platform.ruleCounts()).toEqual([2]));
  });
  afterAll(async () => {
    await platform?.stop();
    await rm(sessions, { recursive: true, force: true });
  });

  function start(...args: readonly string[]) {
    const flags = ['--conditions=@agentlens/source', '--disable-warning=ExperimentalWarning'];
    const env = {
      PATH: process.env.PATH,
      AGENTLENS_URL: platform.addressFor('POST', '/v1/agents'),
      AGENTLENS_API_KEY: key,
    };
    const child = spawn(process.execPath, [...flags, EXAMPLE, '--sessions', sessions, ...args], {
      env,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const printed = { text: '' };
    child.stdout.on('data', (bytes: Buffer) => {
      printed.text += bytes.toString();
    });
    const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
    return { printed, ended };
  }

  it('is blocked, waits for a person, is killed in the middle of a tool, and continues in a new process', async () => {
    const { printed, ended } = start();
    const { id } = await eventually(async () => {
      const { body } = await people.get('/api/alerts?kind=approval');
      expect(body.alerts).toMatchObject([{ status: 'pending', agentId: 'guarded-example' }]);
      return body.alerts[0];
    });
    expect(printed.text).toContain('delete_file: block');
    expect(printed.text).not.toContain('paid');
    await people.post(`/api/alerts/${id}/approve`, { reason: 'known payee' });
    await eventually(() => expect(printed.text).toContain('long_job runs'));
    expect(printed.text).toContain('paid (not really)');
    const [, runId = ''] = /^run (\S+) /m.exec(printed.text) ?? [];
    const order = { scope: 'run', id: runId, state: 'killed', reason: 'enough', waitMs: 10_000 };
    expect(await people.post('/api/control', order)).toMatchObject({ status: 200, body: { acknowledged: 1 } });
    await ended;
    expect(printed.text).toContain('stopped: run_ended');
    expect(printed.text).not.toContain('deleted a file');
    await eventually(async () => {
      const { body } = await people.get(`/api/runs/${runId}/timeline?limit=500`);
      expect(storyOf(body.entries)).toEqual([
        ...['run.started', 'search ALLOW', 'delete_file BLOCK', 'approval opened', 'pay BLOCK', 'approval decided'],
        ...['approval used', 'pay ALLOW', 'long_job ALLOW', 'order killed', 'run.ended'],
      ]);
    });

    const [, sessionId = ''] = /^session (\S+)$/m.exec(printed.text) ?? [];
    const resumed = start('--resume', sessionId);
    await resumed.ended;
    expect(resumed.printed.text).toContain('result: I remember 4 steps of this session. All done.');
    const [, second = ''] = /^run (\S+) \(turn 2\)/m.exec(resumed.printed.text) ?? [];
    await eventually(async () => {
      const { body } = await people.get(`/api/runs/${second}`);
      expect(body).toMatchObject({ status: 'succeeded' });
    });
  });
});
