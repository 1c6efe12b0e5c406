import { eventually } from '@agentlens/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Client } from './support/client.ts';
import { startDistributed } from './support/distributed.ts';
import { startEmbedded } from './support/embedded.ts';
import type { PlatformUnderTest } from './support/platform-under-test.ts';

/** Time for one change on a busy machine. */
const PATIENTLY = { timeoutMs: 30_000 };

describe.each([
  ['one process', startEmbedded, 'evaluator'],
  ['one process', startEmbedded, 'gateway'],
  ['services on NATS and Redis', startDistributed, 'evaluator'],
  ['services on NATS and Redis', startDistributed, 'gateway'],
] as const)('run trees, in %s', (_, start, path) => {
  let platform: PlatformUnderTest;
  let admin: Client;
  let agent: Client;
  beforeAll(async () => {
    platform = await start({ env: { AGENTLENS_DECISION_PATH: path } });
    admin = new Client(platform, (await platform.keyOf('acme', 'admin')).key);
    agent = new Client(platform, (await platform.keyOf('acme', 'ingest', 'decide')).key);
  });
  afterAll(() => platform?.stop());

  const started = async (runId: string, parentRunId?: string) =>
    (await agent.post(`/v1/runs/${runId}/start`, { agentId: 'planner', ...(parentRunId && { parentRunId }) })).body;
  const asked = async (runId: string) =>
    (
      await agent.post(`/v1/runs/${runId}/evaluate`, {
        ...{ phase: 'tool.before', agentId: 'planner', tool: { name: 'search' }, args: {}, tags: {} },
        deadlineMs: 5_000,
      })
    ).body;

  it(`are limited in depth, children and runs, decided by the ${path}`, async () => {
    expect((await admin.put('/api/trees/limits', { limits: { maxDepth: 2, maxChildren: 2, maxRuns: 4 } })).status).toBe(
      200,
    );
    await started('root');
    // The limits reach a gateway within 5 seconds. An earlier start does not count.
    await eventually(async () => {
      await started('probe-2', 'probe-1');
      await started('probe-3', 'probe-2');
      expect(await started('probe-4', 'probe-3')).toMatchObject({
        lockdown: { active: true, lockdownId: 'tree:depth' },
      });
    }, PATIENTLY);
    for (const run of ['a', 'b']) expect(await started(run, 'root')).toMatchObject({ lockdown: { active: false } });
    expect(await started('c', 'root')).toMatchObject({
      lockdown: { active: true, kind: 'killed', lockdownId: 'tree:children' },
    });
    expect(await started('a1', 'a')).toMatchObject({ lockdown: { active: false } });
    expect(await started('a2', 'a')).toMatchObject({ lockdown: { active: true, lockdownId: 'tree:runs' } });
    for (const [run, lockdownId] of [
      ['probe-4', 'tree:depth'],
      ['c', 'tree:children'],
      ['a2', 'tree:runs'],
    ] as const) {
      const message = expect.stringMatching(/at most [24] .*\(max(Depth|Children|Runs)\)$|at most 2 ancestors/);
      expect(await asked(run)).toMatchObject({
        ...{ verdict: 'BLOCK', control: 'TERMINATE', message, cause: { kind: 'LOCKDOWN', lockdownId } },
      });
    }
    for (const run of ['root', 'a', 'b', 'a1']) expect(await asked(run)).toMatchObject({ verdict: 'ALLOW' });
    await eventually(async () => {
      const { body } = await admin.get('/api/decisions?runId=c');
      expect(body.decisions).toMatchObject([{ verdict: 'BLOCK', reason: 'tree_limit' }]);
    }, PATIENTLY);
  });

  it('are admitted again when the limits are removed', async () => {
    expect((await admin.put('/api/trees/limits', { limits: {} })).status).toBe(200);
    await eventually(async () => {
      for (const run of ['probe-4', 'c', 'a2']) expect(await asked(run)).toMatchObject({ verdict: 'ALLOW' });
    }, PATIENTLY);
  });
});
