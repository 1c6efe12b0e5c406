import { COMMANDS, type DecisionRequest } from '@agentlens/contracts';
import { type Database, openDatabase } from '@agentlens/database';
import { eventually } from '@agentlens/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { ask, replyValue } from './asking.ts';
import { type Harness, openHarness } from './harness.ts';

let harness: Harness;
let tracker: Database;
let reader: Database;
beforeAll(async () => {
  harness = await openHarness();
  reader = openDatabase({ url: harness.databaseUrl, role: 'query', maxConnections: 1 });
  tracker = openDatabase({ url: harness.databaseUrl, role: 'run-tracking', maxConnections: 1 });
  const replicas = await Promise.all([harness.replica(), harness.replica()]);
  await replyValue(
    harness.bus.request(COMMANDS.createRule, {
      tenantId: 'acme',
      body: {
        ...{ name: 'No egress', conditionType: 'data_flow', selector: { tools: ['send'] } },
        ...{ conditionConfig: { after: [{ tools: ['read'] }], label: 'pii' }, onUnavailable: 'block' },
        actionType: 'block',
      },
    }),
  );
  await eventually(() => expect(replicas.map(({ evaluator }) => evaluator.rules.book.size)).toEqual([1, 1]));
});
afterAll(async () => {
  await tracker?.close();
  await reader?.close();
  await harness.close();
});

/** Asks in a tree of its own. */
const calling = (tool: string, runId: string, fields: Partial<DecisionRequest> = {}) =>
  ask(harness.bus, { runId, tool: { name: tool, tags: [] }, deadlineMs: 2_000, ...fields });
const blocked = { verdict: 'BLOCK', evaluatedRules: [{ flow: { label: 'pii', source: { toolName: 'read' } } }] };

/** Any of the evaluators answers, so each question is asked a few times. */
async function eachAnswers(tool: string, runId: string, expected: object, fields: Partial<DecisionRequest> = {}) {
  for (let i = 0; i < 6; i++) expect(await calling(tool, runId, fields)).toMatchObject(expected);
}

async function storedRun(runId: string, parent: string | null): Promise<void> {
  await sql`insert into runs (tenant_id, run_id, agent_id, parent_run_id, status, started_at, last_event_at, updated_at)
    values ('acme', ${runId}, 'agent-1', ${parent}, 'running', now(), now(), now())`.execute(tracker.db);
}

describe('labels after Redis lost its data', () => {
  it('stand for every evaluator, also in runs whose parents only the database knows', async () => {
    for (const n of [1, 2, 3]) await calling('read', `child-${n}`, { ancestors: [`root-${n}`] });
    await eachAnswers('send', 'root-1', blocked);
    // A store that is a few seconds old counts as new.
    await sql`update run_label_stores set first_used_at = now() - interval '1 hour'`.execute(harness.database.db);
    await harness.flushRedis();
    await Promise.all([1, 2, 3].map((n) => storedRun(`root-${n}`, null)));
    await storedRun('sibling', 'root-2');
    await storedRun('unrelated', null);
    await eachAnswers('send', 'root-1', blocked);
    await eachAnswers('send', 'sibling', blocked);
    await eachAnswers('send', 'grandchild', blocked, { ancestors: ['sibling'] });
    await eachAnswers('send', 'unrelated', { verdict: 'ALLOW', bypasses: [] });
  });

  it('are unavailable for a run that may have a forgotten parent', async () => {
    expect(await calling('send', 'unknown')).toMatchObject({
      ...{ verdict: 'BLOCK', bypasses: [{ why: 'unavailable', did: 'block' }] },
    });
  });

  it('can be lost again while calls are asked about', async () => {
    await storedRun('root-4', null);
    expect((await calling('read', 'root-4')).verdict).toBe('ALLOW');
    const flushes = (async () => {
      for (let i = 0; i < 5; i++) await harness.flushRedis();
    })();
    await eachAnswers('send', 'root-4', { verdict: 'BLOCK' });
    await flushes;
    await eachAnswers('send', 'root-4', blocked);
  });
});

describe('a label that a person clears', () => {
  const line = { tenantId: 'acme', runIds: ['mail', 'task'] };
  const clearing = { label: 'pii', reason: 'reviewed', author: { keyId: 'k', keyName: 'ops' } };

  it('ends for the tree, also after another loss, with an audit entry', async () => {
    for (const runId of ['task', 'mail']) await storedRun(runId, runId === 'mail' ? 'task' : null);
    await calling('read', 'task', { callId: 'c1' });
    const standing = { label: 'pii', source: { runId: 'task', toolName: 'read', callId: 'c1' } };
    expect(await replyValue(harness.bus.request(COMMANDS.readLabels, line))).toMatchObject({ labels: [standing] });
    await replyValue(harness.bus.request(COMMANDS.clearLabel, { ...line, ...clearing }));
    await harness.flushRedis();
    await eachAnswers('send', 'task', { verdict: 'ALLOW' });
    const audited = sql`select target_id, reason, before, key_id from audit_entries where kind = 'label.cleared'`;
    expect((await audited.execute(reader.db)).rows).toMatchObject([
      { target_id: 'mail', reason: 'reviewed', key_id: 'k', before: { label: 'pii', source: { runId: 'task' } } },
    ]);
  });

  it('is rejected if it does not stand', async () => {
    const answer = await harness.bus.request(COMMANDS.clearLabel, { ...line, ...clearing, label: 'other' });
    expect(answer).toMatchObject({ ok: false, problem: { status: 404 } });
  });
});
