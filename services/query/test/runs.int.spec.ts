import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { NOW, type OperatorApi, startOperatorApi } from './operator-api.ts';
import { aBreakerRow, aDecisionRow, anAlertRow, anEventRow, anOrderRow, aRunRow, aTriggerRow } from './rows.ts';

let api: OperatorApi;

const minute = (n: number) => new Date(Date.parse(NOW) + n * 60_000).toISOString();
const second = (n: number) => new Date(Date.parse(NOW) + n * 1_000).toISOString();
const idsOf = (items: readonly { id: string }[]) => items.map((item) => item.id);

beforeAll(async () => {
  api = await startOperatorApi();
  const runs = [
    { run_id: 'root', started_at: minute(-60), last_event_at: minute(-30), model: 'large', cost_usd: 2, tags: ['a'] },
    {
      run_id: 'child-1',
      parent_run_id: 'root',
      started_at: minute(-50),
      cost_usd: 0.5,
      actor_id: 'ann',
      status: 'failed',
    },
    {
      run_id: 'child-2',
      parent_run_id: 'root',
      started_at: minute(-40),
      cost_usd: 0.25,
      run_tags: { team: 'blue', shift: 'a' },
    },
    { run_id: 'grandchild', parent_run_id: 'child-1', started_at: minute(-45), cost_usd: 0.125, session_id: 'group' },
    { run_id: 'circle-1', parent_run_id: 'circle-2', started_at: minute(-90), agent_id: 'other', cost_usd: 0.01 },
    { run_id: 'circle-2', parent_run_id: 'circle-1', started_at: minute(-89), agent_id: 'other', cost_usd: 0.01 },
    { run_id: 'self', parent_run_id: 'self', started_at: minute(-88), agent_id: 'other', cost_usd: 0.01 },
    {
      run_id: 'out-of-time',
      started_at: minute(-99),
      status: 'timed_out',
      ttl_ms: 120_000,
      last_event_at: minute(-98),
    },
    {
      run_id: 'silent',
      started_at: minute(-98),
      status: 'lost',
      heartbeat_every_ms: 1_000,
      last_event_at: minute(-97),
    },
  ];
  for (const run of runs) await api.insert('runs', aRunRow({ event_count: 1, ...run }));
  await api.insert('runs', aRunRow({ tenant_id: 'globex', run_id: 'foreign-child', parent_run_id: 'root' }));
});
afterAll(() => api.close());

describe('runs', () => {
  const list = async (query: string) => (await api.get(`/api/runs?${query}`)).body;

  it.each([
    ['agentId=other', ['self', 'circle-2', 'circle-1']],
    ['status=failed', ['child-1']],
    ['status=timed_out,lost', ['silent', 'out-of-time']],
    ['sessionId=group', ['grandchild']],
    ['parentRunId=root', ['child-2', 'child-1']],
    ['actorId=ann', ['child-1']],
    ['model=large', ['root']],
    ['tags=a,zzz', ['root']],
    ['tags=team%3Dblue', ['child-2']],
    ['tags=team%3Dred', []],
    ['tags=a,team%3Dblue', ['child-2', 'root']],
    ['tagsAll=team%3Dblue,shift%3Da', ['child-2']],
    ['tagsAll=team%3Dblue,a', []],
    ['tagsAll=team%3Dblue&tags=a', []],
    ['minCostUsd=0.2&maxCostUsd=0.6', ['child-2', 'child-1']],
    [`from=${minute(-50)}&to=${minute(-45)}`, ['grandchild', 'child-1']],
    ['ruleId=none', []],
    ['search=CHILD-', ['child-2', 'child-1']],
    ['search=blue', ['child-2']],
    ['search=ann', ['child-1']],
    ['search=%25', []],
    ['hasError=true&status=failed', ['child-1']],
    ['minDurationMs=1800000&maxDurationMs=1800000', ['root']],
    ['sort=cost&minCostUsd=0.2&parentRunId=root', ['child-1', 'child-2']],
    ['sort=cost&order=asc&parentRunId=root', ['child-2', 'child-1']],
  ])('are filtered by %s', async (query, ids) => {
    expect(idsOf((await list(query)).runs)).toEqual(ids);
  });

  it('are found by the rule that triggered or decided in them', async () => {
    await api.insert('guardrail_triggers', aTriggerRow({ trigger_id: 'of-root', rule_id: 'fired', run_id: 'root' }));
    await api.insert('decisions', aDecisionRow({ decision_id: 'of-c', final_rule_id: 'fired', run_id: 'child-1' }));

    expect(idsOf((await list('ruleId=fired')).runs)).toEqual(['child-1', 'root']);
  });

  const SORTS = ['started', 'duration', 'cost', 'tokens', 'steps', 'errors'];
  it.each(SORTS.flatMap((sort) => [`sort=${sort}`, `sort=${sort}&order=asc`]))(
    'are paged by %s without gap or repetition',
    async (sort) => {
      const whole = idsOf((await list(sort)).runs);
      const paged: string[] = [];
      let cursor = '';
      do {
        const page = await list(`${sort}&limit=2${cursor}`);
        paged.push(...idsOf(page.runs));
        cursor = page.nextCursor === undefined ? '' : `&cursor=${page.nextCursor}`;
      } while (cursor !== '');
      expect(paged).toEqual(whole);
      expect(whole).toHaveLength(9);
    },
  );

  it('reject a cursor of another sort', async () => {
    const { nextCursor } = await list('sort=cost&limit=2');
    const { status, body } = await api.get(`/api/runs?sort=tokens&limit=2&cursor=${nextCursor}`);
    expect(status).toBe(400);
    expect(body.details[0].path).toBe('cursor');
  });

  it('are found by a blocked call, and counted by the same filter', async () => {
    await api.insert('decisions', aDecisionRow({ decision_id: 'blocked', run_id: 'silent', effect: 'block' }));
    const found = idsOf((await list('wasBlocked=true')).runs);
    expect(found).toContain('silent');
    expect(found).not.toContain('self');
    expect((await api.get('/api/runs/facets?wasBlocked=true')).body.total).toBe(found.length);
    expect((await api.get('/api/runs/facets?search=child-')).body).toMatchObject({ total: 2 });
    expect((await api.get('/api/runs/facets?tagsAll=team%3Dblue')).body).toMatchObject({
      total: 1,
      tags: [
        { value: 'shift=a', runs: 1 },
        { value: 'team=blue', runs: 1 },
      ],
    });
  });

  it('are paged without gap or repetition', async () => {
    const seen: string[] = [];
    let cursor = '';
    for (;;) {
      const body = await list(`limit=2${cursor}`);
      seen.push(...idsOf(body.runs));
      if (!body.hasMore) break;
      cursor = `&cursor=${body.nextCursor}`;
    }
    expect(seen).toHaveLength(9);
    expect(new Set(seen).size).toBe(9);
  });

  it('are shown as idle if they are running without events', async () => {
    const { runs } = await list('agentId=agent-1&status=running');
    expect(Object.fromEntries(runs.map((run: { id: string; idle: boolean }) => [run.id, run.idle]))).toMatchObject({
      root: true,
      'child-2': false,
    });
  });

  it('that the platform ended have their last event or their deadline as end', async () => {
    expect((await api.get('/api/runs/silent')).body).toMatchObject({ endedAt: minute(-97), durationMs: 60_000 });
    expect((await api.get('/api/runs/out-of-time')).body).toMatchObject({ endedAt: minute(-97), durationMs: 120_000 });
    expect((await api.get('/api/sessions/silent')).body).toMatchObject({ endedAt: minute(-97), status: 'error' });
  });
});

describe('the tree of a run', () => {
  const tree = async (id: string) => (await api.get(`/api/runs/${id}/tree`)).body;

  it('shows its descendants with rolled-up totals, and nothing of another tenant', async () => {
    const body = await tree('root');
    expect(body.truncated).toBe(false);
    expect(
      body.runs.map((run: { id: string; depth: number; rolledUp: { costUsd: number } }) => [
        run.id,
        run.depth,
        run.rolledUp.costUsd,
      ]),
    ).toEqual([
      ['root', 0, 2.875],
      ['child-1', 1, 0.625],
      ['grandchild', 2, 0.125],
      ['child-2', 1, 0.25],
    ]);
  });

  it.each([
    ['circle-1', ['circle-1', 'circle-2']],
    ['self', ['self']],
  ])('of %s stops where it would cycle', async (id, ids) => {
    expect(idsOf((await tree(id)).runs)).toEqual(ids);
  });

  it('is truncated if it is too deep or too wide', async () => {
    for (let i = 0; i < 25; i++) {
      const parent = i === 0 ? {} : { parent_run_id: `deep-${i - 1}` };
      await api.insert('runs', aRunRow({ run_id: `deep-${i}`, started_at: minute(-200), ...parent }));
    }
    const deep = await tree('deep-0');
    expect(deep).toMatchObject({ truncated: true });
    expect(deep.runs).toHaveLength(21);
    await api.insert('runs', aRunRow({ run_id: 'wide', started_at: minute(-200) }));
    const child = (at: number) => aRunRow({ run_id: `wide-${at}`, started_at: minute(-200), parent_run_id: 'wide' });
    await Promise.all(Array.from({ length: 10_000 }, (_, at) => api.insert('runs', child(at))));
    const wide = await tree('wide');
    expect(wide).toMatchObject({ truncated: true });
    expect(wide.runs).toHaveLength(1_000);
  });

  it('of an unknown run is not found', async () => {
    expect(await api.get('/api/runs/nobody/tree')).toMatchObject({ status: 404, body: { error: 'Run not found' } });
  });
});

describe('one run', () => {
  beforeAll(async () => {
    await api.insert(
      'runs',
      aRunRow({
        run_id: 'whole',
        started_at: minute(-300),
        ended_at: minute(-299),
        status: 'succeeded',
        step_count: 3,
        result: JSON.stringify('done'),
        cache_read_tokens: 7,
      }),
    );
    const of = { run_id: 'whole', agent_id: 'agent-1' };
    const tool = (id: string, at: number, fields: object) =>
      api.insert('events', anEventRow({ ...of, event_id: id, occurred_at: minute(at), ...fields }));
    await tool('w1', -300, { kind: 'tool.called', call_id: 'c1', payload: { arguments: { q: 'x' } } });
    const search = { kind: 'tool.completed', tool_name: 'search' };
    await tool('w2', -299.9, { ...search, call_id: 'c1', latency_ms: 10, payload: { result: [1, 2] } });
    await tool('w3', -299.8, { ...search, latency_ms: 30, is_error: true, payload: { error: 'boom' } });
    await tool('w4', -299.7, { kind: 'tool.completed', tool_name: 'pay', payload: { result: 'x'.repeat(5_000) } });
    await tool('w5', -299.6, { kind: 'llm.completed', model: 'm', provider: 'p', input_tokens: 10, latency_ms: 99 });
  });

  it('shows its tool calls and its result', async () => {
    const { body } = await api.get('/api/runs/whole');
    expect(body.tools).toEqual([
      { tool: 'search', calls: 2, errors: 1, errorRate: 0.5, latencyMs: { mean: 20, p50: 20, p95: 29, max: 30 } },
      { tool: 'pay', calls: 1, errors: 0, errorRate: 0, latencyMs: null },
    ]);
    expect(body).toMatchObject({
      step: 3,
      notices: [],
      endedBy: null,
      totals: { steps: 3, cacheReadTokens: 7 },
      summary: {
        id: 'whole',
        success: true,
        result: 'done',
        actions: [
          { tool: 'search', step: 1, ok: true, input: { q: 'x' }, output: [1, 2], latencyMs: 10 },
          { tool: 'search', step: 2, ok: false, error: 'boom' },
          { tool: 'pay', step: 3, ok: true, output: null },
        ],
        modelCalls: [{ model: 'm', inputTokens: 10, latencyMs: 99 }],
        metrics: { durationMs: 60_000, toolLatencyMs: { search: 20 } },
      },
    });
  });

  it('names the rule that ended it', async () => {
    await api.insert('runs', aRunRow({ run_id: 'cut', status: 'interrupted', ended_by: 'cut-1' }));
    const decision = { run_id: 'cut', verdict: 'BLOCK', control: 'TERMINATE', decided_at: minute(-299) };
    const ended = { ...decision, decision_id: 'cut-1', final_rule_id: 'r1', message: 'Not on Fridays', reason: 'rule' };
    await api.insert('decisions', aDecisionRow(ended));
    await api.insert('decisions', aDecisionRow({ ...decision, decision_id: 'cut-2', message: 'again' }));
    expect((await api.get('/api/runs/cut')).body.endedBy).toEqual({
      ...{ decisionId: 'cut-1', reason: 'rule', ruleId: 'r1', message: 'Not on Fridays', at: minute(-299) },
    });
  });

  it('has its events, oldest first, in pages', async () => {
    const first = (await api.get('/api/runs/whole/events?limit=3')).body;
    const rest = (await api.get(`/api/runs/whole/events?limit=3&cursor=${first.nextCursor}`)).body;
    expect([...idsOf(first.events), ...idsOf(rest.events)]).toEqual(['w1', 'w2', 'w3', 'w4', 'w5']);
    expect(rest.hasMore).toBe(false);
  });
});

describe('a run that two instrumentations report', () => {
  it('names the two and the number of model calls that may count twice', async () => {
    await api.insert('runs', aRunRow({ run_id: 'twice', started_at: minute(-300), last_event_at: minute(-299) }));
    const call = (event_id: string, scope: string, fields: object) =>
      api.insert(
        'events',
        anEventRow({
          ...{ event_id, run_id: 'twice', dialect: 'otlp', kind: 'llm.completed', source_type: 'llm_response' },
          ...{ occurred_at: minute(-299.5), latency_ms: 900, metadata: { otlp: { scope } }, ...fields },
        }),
      );
    await call('t1', 'framework', {});
    await call('t2', 'client', { latency_ms: 800 });
    const duplicate = { kind: 'custom.recorded', source_type: 'duplicate_model_call', occurred_at: minute(-299.2) };
    await call('t3', 'client', { ...duplicate, payload: { countedAs: { scope: 'vendor' } } });

    const { notices } = (await api.get('/api/runs/twice')).body;
    const notice = { kind: 'two_instrumentations', agentId: 'agent-1' };
    expect(notices).toEqual([
      { ...notice, scopes: ['client', 'vendor'], mayCountTwice: 0 },
      { ...notice, scopes: ['client', 'framework'], mayCountTwice: 1 },
    ]);
  });
});

describe('the timeline of a run', () => {
  beforeAll(async () => {
    const of = { run_id: 'story' };
    await api.insert('runs', aRunRow({ ...of, started_at: second(0), last_event_at: second(9) }));
    for (const [i, at] of [0, 1, 9].entries()) {
      await api.insert('events', anEventRow({ ...of, event_id: `s${i}`, occurred_at: second(at) }));
    }
    await api.insert(
      'decisions',
      aDecisionRow({
        ...{ ...of, decision_id: 's-ask', decided_at: second(2), effect: 'ask' },
        arguments: JSON.stringify({ eur: 950, to: 'x'.repeat(200), why: { nested: true } }),
        ...{ reason: 'approval', approval_id: 's-alert' },
      }),
    );
    await api.insert(
      'alerts',
      anAlertRow({
        ...of,
        alert_id: 's-alert',
        status: 'approved',
        binding: 's',
        created_at: second(2),
        acknowledged_at: second(3),
        decided_at: second(4),
        used_at: second(5),
      }),
    );
    await api.insert(
      'decisions',
      aDecisionRow({ ...of, decision_id: 's-allow', decided_at: second(5), effect: 'allow' }),
    );
    await api.insert('guardrail_triggers', aTriggerRow({ ...of, trigger_id: 's-trigger', triggered_at: second(6) }));
    await api.insert('circuit_breakers', aBreakerRow({ scope_id: 'story', changed_at: second(7) }));
    await api.insert('control_orders', anOrderRow({ scope_id: 'story', issued_at: second(8) }));
    await api.insert('decisions', aDecisionRow({ ...of, decision_id: 's-foreign', tenant_id: 'globex' }));
  });

  const STORY = [
    ['event', 0],
    ['event', 1],
    ['alert opened', 2],
    ['decision', 2],
    ['alert acknowledged', 3],
    ['alert decided', 4],
    ['alert used', 5],
    ['decision', 5],
    ['trigger', 6],
    ['breaker', 7],
    ['order', 8],
    ['event', 9],
  ].map(([what, at]) => [what, second(Number(at))]);
  const storyOf = (entries: readonly { type: string; at: string; moment?: string }[]) =>
    entries.map(({ type, at, moment }) => [moment === undefined ? type : `${type} ${moment}`, at]);

  it('shows events, decisions, triggers, alerts, the breaker and the order in sequence', async () => {
    const { body } = await api.get('/api/runs/story/timeline');
    expect(storyOf(body.entries)).toEqual(STORY);
    expect(body.hasMore).toBe(false);
  });

  it.each([1, 2, 5])('is paged by %d without gap or repetition', async (limit) => {
    const seen: unknown[] = [];
    let cursor = '';
    for (;;) {
      const { body } = await api.get(`/api/runs/story/timeline?limit=${limit}${cursor}`);
      seen.push(...storyOf(body.entries));
      if (!body.hasMore) break;
      cursor = `&cursor=${body.nextCursor}`;
    }
    expect(seen).toEqual(STORY);
    const { body } = await api.get(`/api/runs/story/timeline?limit=${limit}&offset=3`);
    expect(storyOf(body.entries)).toEqual(STORY.slice(3, 3 + limit));
  });

  it('has the same entries without contents in its light form', async () => {
    const { body } = await api.get('/api/runs/story/timeline/light');

    expect(storyOf(body.entries)).toEqual(STORY);
    expect(body.hasMore).toBe(false);
    const whole = (await api.get('/api/runs/story/timeline')).body.entries[0].event;
    const { kind, agentId, isError } = whole;
    expect(body.entries[0]).toMatchObject({ type: 'event', id: 's0', kind, agentId, isError });
    for (const word of ['payload', 'metadata', 'arguments', 'message'])
      expect(body.entries[0]).not.toHaveProperty(word);
    const decision = body.entries.find(({ id }: { id: string }) => id === 's-ask');
    expect(decision).toMatchObject({ effect: 'ask', verdict: expect.any(String) });
    const decided = (await api.get('/api/runs/story/decisions')).body.decisions[0];
    for (const fact of ['control', 'inputsDigest', 'message'] as const) expect(decision[fact]).toBe(decided[fact]);
    expect(decision.summary).toBe(`950, ${'x'.repeat(85)}`);
    expect(decision).toMatchObject({ kind: decided.phase, reason: 'approval', approvalId: 's-alert' });
    const short = (type: string) => body.entries.find((entry: { type: string }) => entry.type === type);
    expect(short('trigger')).toMatchObject({ message: expect.any(String) });
    expect(short('breaker')).toMatchObject({ status: 'open', message: expect.any(String) });
    expect(short('order')).toMatchObject({ by: expect.any(String), message: expect.any(String) });
    const first = (await api.get('/api/runs/story/timeline/light?limit=5')).body;
    const rest = (await api.get(`/api/runs/story/timeline/light?limit=5000&cursor=${first.nextCursor}`)).body;
    expect(storyOf([...first.entries, ...rest.entries])).toEqual(STORY);
    const foreign = await api.get('/api/runs/story/timeline/light', api.keys.foreign.key);
    expect(foreign.body.entries).toMatchObject([{ type: 'decision', id: 's-foreign' }]);
  });

  it('starts with the decisions of a run whose first event has not arrived yet', async () => {
    await api.insert('decisions', aDecisionRow({ run_id: 'early', decision_id: 'early' }));

    const { body } = await api.get('/api/runs/early/timeline');

    expect(storyOf(body.entries)).toEqual([['decision', NOW]]);
    expect(idsOf((await api.get('/api/runs/early/decisions')).body.decisions)).toEqual(['early']);
    expect((await api.get('/api/runs/early')).status).toBe(404);
  });

  it('supports ids of the maximum length', async () => {
    const long = { run_id: 'long', event_id: '😀'.repeat(128) };
    await api.insert('runs', aRunRow({ run_id: 'long', last_event_at: minute(1) }));
    await api.insert('events', anEventRow(long));
    await api.insert('events', anEventRow({ ...long, occurred_at: minute(1) }));

    const { body } = await api.get('/api/runs/long/timeline?limit=1');
    const rest = await api.get(`/api/runs/long/timeline?limit=1&cursor=${body.nextCursor}`);

    expect(rest.body.entries).toMatchObject([{ type: 'event', at: minute(1) }]);
  });
});

describe('the decisions of a run', () => {
  it('are paged, oldest first', async () => {
    const first = (await api.get('/api/runs/story/decisions?limit=1')).body;
    const rest = (await api.get(`/api/runs/story/decisions?limit=5&cursor=${first.nextCursor}`)).body;
    expect([...idsOf(first.decisions), ...idsOf(rest.decisions)]).toEqual(['s-ask', 's-allow']);
  });

  it('of an unknown run are not found', async () => {
    expect((await api.get('/api/runs/nobody/decisions')).status).toBe(404);
  });
});
