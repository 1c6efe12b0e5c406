import { describe, expect, it } from '@jest/globals';
import type { LazyCommand } from '../context.ts';
import { runCli, type SentRequest } from '../run-cli.testing.ts';
import { COMMANDS } from './index.ts';

const PATHS = Object.entries(COMMANDS).flatMap(([name, entry]): [string, LazyCommand][] =>
  'load' in entry
    ? [[name, entry]]
    : Object.entries(entry.commands).map(([inner, command]) => [`${name} ${inner}`, command]),
);

const order = (connected: number | null, acknowledged: number) => ({
  order: { id: 'o-1', scope: 'agent', scopeId: 'bot', state: 'killed', reason: 'loop', by: 'ops' },
  ...{ connected, acknowledged, fastestMs: 3, slowestMs: 12 },
});

describe('every command', () => {
  it.each(PATHS)('%s prints its help without sending a request', async (path, command) => {
    const { exitCode, stdout, requests } = await runCli([...path.split(' '), '--help']);
    expect({ exitCode, requests }).toEqual({ exitCode: 0, requests: [] });
    expect(stdout).toContain(`Usage: agentlens ${path}`);
    expect(stdout).toContain(command.summary);
  });
});

describe('runs limits', () => {
  const stored = { scope: 'tenant', limits: { maxDepth: 5, maxChildren: null, maxRuns: 200 }, version: 3 };

  it('shows the limits of run trees', async () => {
    const { stdout, requests } = await runCli(['runs', 'limits'], { answer: () => stored });
    expect(requests).toMatchObject([{ method: 'GET', path: '/api/trees/limits' }]);
    expect(stdout).toContain('at most 5 ancestors, any number of children of a run, at most 200 runs');
  });

  it('changes the named limits and keeps the others', async () => {
    const words = ['runs', 'limits', '--max-depth', 'none', '--max-children', '20'];
    const { exitCode, requests } = await runCli(words, { answer: () => stored });
    expect(exitCode).toBe(0);
    expect(requests).toMatchObject([
      { method: 'GET' },
      { method: 'PUT', path: '/api/trees/limits', body: { limits: { maxDepth: null, maxChildren: 20, maxRuns: 200 } } },
    ]);
  });

  it.each(['-1', 'some', '1.5'])('rejects %s', async (text) => {
    const { exitCode, requests } = await runCli(['runs', 'limits', '--max-runs', text]);
    expect({ exitCode, requests }).toEqual({ exitCode: 64, requests: [] });
  });
});

describe('runs tree', () => {
  it('shows depth, children, cost and labels of each run, and the limits', async () => {
    const totals = (costUsd: number) => ({ costUsd, unpricedCalls: 0 });
    const run = (id: string, depth: number, costUsd: number) => ({
      ...{ id, depth, agentId: 'bot', status: 'succeeded', durationMs: 1_000, childCount: 1 - depth },
      ...{ totals: totals(costUsd), rolledUp: totals(costUsd + 1) },
    });
    const source = { runId: 'child', agentId: 'bot', toolName: 'read', at: '2026-03-01T12:00:00.000Z' };
    const answers: Record<string, unknown> = {
      '/api/runs/root/tree': { runs: [run('root', 0, 0.5), run('child', 1, 0.25)], truncated: false, agents: [] },
      '/api/runs/root/labels': { root: 'root', labels: [{ label: 'pii', source }] },
      '/api/trees/limits': { scope: 'tenant', limits: { maxDepth: 3, maxChildren: 4, maxRuns: null }, version: 1 },
    };
    const answer = ({ path }: { readonly path: string }) => answers[path];
    const { stdout, stderr } = await runCli(['runs', 'tree', 'root'], {
      answer,
      terminal: 120,
      env: { NO_COLOR: '1' },
    });
    const cells = stdout.split('\n').map((line) => line.trim().split(/ +/));
    expect(cells[1]).toEqual(expect.arrayContaining(['root', 'bot', 'succeeded', '1']));
    expect(cells[2]).toEqual(expect.arrayContaining(['child', 'bot', 'succeeded', 'pii']));
    expect(stderr).toContain('at most 3 ancestors, at most 4 children of a run, any number of runs');
  });
});

describe('kill, pause and resume', () => {
  it('sends the order, waits for the agents and prints how many acknowledged', async () => {
    const words = ['kill', 'agent', 'bot', '--reason', 'loop', '--yes'];
    const { exitCode, stdout, requests } = await runCli(words, { answer: () => order(2, 2) });
    expect(exitCode).toBe(0);
    expect(requests).toMatchObject([
      { method: 'POST', path: '/api/control', body: { scope: 'agent', id: 'bot', state: 'killed', reason: 'loop' } },
    ]);
    expect(requests[0]?.body).toMatchObject({ waitMs: 10_000 });
    expect(stdout).toContain('2 of 2 connected instances');
  });

  it('asks for confirmation for an agent or the tenant, but not for a run', async () => {
    for (const whom of [['agent', 'bot'], ['tenant']]) {
      const { exitCode, requests } = await runCli(['pause', ...whom], { answer: () => order(1, 1) });
      expect({ exitCode, requests }).toEqual({ exitCode: 64, requests: [] });
    }
    const run = await runCli(['runs', 'kill', 'run-1', '--no-wait'], { answer: () => order(1, 0) });
    expect(run.requests[0]?.body).toMatchObject({ scope: 'run', id: 'run-1', state: 'killed', waitMs: 0 });
  });

  it('warns if an instance has not acknowledged', async () => {
    const { stderr } = await runCli(['resume', 'agent', 'bot', '-y'], { answer: () => order(3, 1) });
    expect(stderr).toContain('Some connected instances have not acknowledged');
  });

  it('rejects an unknown scope and a missing id', async () => {
    expect(await runCli(['kill', 'agnet', 'x'])).toMatchObject({ exitCode: 64, requests: [] });
    expect(await runCli(['kill', 'agent'])).toMatchObject({ exitCode: 64, requests: [] });
    expect(await runCli(['kill', 'tenant', 'acme'])).toMatchObject({ exitCode: 64, requests: [] });
  });
});

describe('decisions', () => {
  const decision = {
    ...{ id: 'd-1', agentId: 'bot', runId: 'r1', phase: 'tool.before', toolName: 'pay', verdict: 'ALLOW' },
    ...{ control: 'CONTINUE', effect: 'allow', message: 'Allowed', bypasses: [], evaluatedRules: [] },
    ...{ latencyMs: 1, decidedAt: '2026-03-01T12:00:00.000Z' },
  };
  it.each([
    [undefined, undefined],
    [{ by: 'gateway', book: 'v7' }, 'the gateway, with rules as of version v7'],
    [{ by: 'evaluator' }, 'the evaluator'],
    [
      { by: 'evaluator', asked: 'counted', askedForRule: 'rule-2' },
      'the evaluator, asked because of counted (rule rule-2)',
    ],
    [
      { by: 'gateway', asked: 'first' },
      'the gateway without rules: the evaluator, asked because of first, did not answer',
    ],
    [{ by: 'gateway' }, 'the gateway without rules: the evaluator did not answer'],
  ])('shows who decided: %j', async (decider, text) => {
    const { stdout, requests } = await runCli(['decisions', 'show', 'd-1'], {
      answer: () => ({ ...decision, decider }),
    });
    expect(requests).toMatchObject([{ method: 'GET', path: '/api/decisions/d-1' }]);
    expect(/^Decided by +(.+)$/m.exec(stdout)?.[1]).toBe(text);
  });

  it('shows how many gateways made, and which rule makes them ask', async () => {
    const advice = '"Two pays" counts calls of every agent. Limit it to one agent.';
    const asked = { reason: 'counted', why: 'a rule counts the call', decisions: 20, ruleName: 'Two pays', advice };
    const paths = { from: decision.decidedAt, gateway: 79, evaluator: 20, unanswered: 1, asked: [asked] };
    const { stdout } = await runCli(['decisions', 'paths'], { answer: () => paths });
    for (const part of ['79 (79.0 %)', '20 (20.0 %)', 'a rule counts the call', 'Two pays'])
      expect(stdout).toContain(part);
    const none = { ...paths, gateway: 0, evaluator: 0, unanswered: 0, asked: [] };
    expect((await runCli(['decisions', 'paths'], { answer: () => none })).stdout).not.toContain('%');
  });
});

describe('labels', () => {
  const source = {
    runId: 'r2',
    agentId: 'crm',
    toolName: 'read_customer',
    callId: 'c4',
    at: '2026-03-01T12:00:00.000Z',
  };
  const labels = { root: 'r1', labels: [{ label: 'customer-data', source }] };

  it('prints the label and the call that set it', async () => {
    const { stdout } = await runCli(['labels', 'r3'], { answer: () => labels });
    for (const part of ['customer-data', 'read_customer', 'crm', 'r2', 'c4']) expect(stdout).toContain(part);
    const { stdout: none } = await runCli(['labels', 'r3'], { answer: () => ({ root: 'r1', labels: [] }) });
    expect(none).toContain('No label stands on the tree of r3.');
  });

  it('clears a label only with a reason', async () => {
    const answer = () => ({ ok: true });
    const missing = await runCli(['labels', 'r3', '--clear', 'pii'], { answer });
    expect(missing).toMatchObject({ exitCode: 64, requests: [] });
    const { requests } = await runCli(['labels', 'r3', '--clear', 'pii', '--reason', 'reviewed'], { answer });
    expect(requests).toMatchObject([
      { method: 'DELETE', path: '/api/runs/r3/labels/pii', body: { reason: 'reviewed' } },
    ]);
  });

  it('are marked in the tree at the run that set them', async () => {
    const totals = { costUsd: 0.1, unpricedCalls: 0 };
    const run = { agentId: 'crm', status: 'running', totals, rolledUp: totals, childCount: 0 };
    const runs = ['r1', 'r2'].map((id, depth) => ({ ...run, id, depth }));
    const answer = ({ path }: { path: string }) =>
      path.endsWith('/labels') ? labels : { runs, truncated: false, agents: [] };
    const { stdout } = await runCli(['runs', 'tree', 'r1'], { answer });
    const [first = '', second = ''] = stdout.split('\n').filter((line) => /^ *r\d/.test(line));
    expect([first.includes('customer-data'), second.includes('customer-data')]).toEqual([false, true]);
  });
});

describe('check', () => {
  const verdict = (word: 'ALLOW' | 'BLOCK') => ({
    ...{ verdict: word, control: 'CONTINUE', message: 'because', evaluatedRules: [] },
    cause: word === 'ALLOW' ? { kind: 'ALLOW' } : { kind: 'RULE_VIOLATION', ruleId: 'r-1' },
  });

  it('evaluates the call and exits with 0 if it is allowed', async () => {
    const words = ['check', 'refund', '--agent', 'bot', '--run', 'run-1', '--args', '{"eur": 20}'];
    const { exitCode, requests } = await runCli(words, { answer: () => verdict('ALLOW') });
    expect(exitCode).toBe(0);
    expect(requests).toMatchObject([
      {
        path: '/v1/runs/run-1/evaluate',
        body: { phase: 'tool.before', agentId: 'bot', tool: { name: 'refund' }, args: { eur: 20 } },
      },
    ]);
  });

  it('exits with 3 and prints the reason if the call is blocked', async () => {
    const { exitCode, stdout } = await runCli(['check', 'rm', '--agent', 'bot'], { answer: () => verdict('BLOCK') });
    expect(exitCode).toBe(3);
    expect(stdout).toContain('because');
  });

  it('rejects invalid JSON arguments before sending a request', async () => {
    const { exitCode, stderr, requests } = await runCli(['check', 'rm', '--agent', 'bot', '--args', '{eur}']);
    expect(exitCode).toBe(64);
    expect(stderr).toContain('--args is not JSON');
    expect(requests).toEqual([]);
  });
});

describe('api', () => {
  it('prints the response unchanged and derives the exit code from its status', async () => {
    const good = await runCli(['api', 'get', '/api/me'], { answer: () => new Response('{"a": 1}\n') });
    expect(good).toMatchObject({ exitCode: 0, stdout: '{"a": 1}\n' });
    const answer = () => Response.json({ error: 'No such run' }, { status: 404 });
    const bad = await runCli(['api', 'get', '/api/runs/x'], { answer });
    expect(bad).toMatchObject({ exitCode: 5, stdout: '{"error":"No such run"}\n' });
  });

  it('sends a YAML or JSON file as the body', async () => {
    const { requests } = await runCli(['api', 'put', '/api/settings', '--body', '-'], { stdin: 'a: 1' });
    expect(requests).toMatchObject([{ method: 'PUT', path: '/api/settings', body: { a: 1 } }]);
  });
});

describe('settings set', () => {
  it('changes only the given settings', async () => {
    const words = ['settings', 'set', 'decisionFailMode=block', 'limit=5'];
    const { requests } = await runCli(words, { answer: () => ({ decisionFailMode: 'block' }) });
    expect(requests).toMatchObject([{ method: 'PATCH', body: { decisionFailMode: 'block', limit: 5 } }]);
  });

  it('rejects an argument that is not name=value', async () => {
    expect(await runCli(['settings', 'set', 'block'])).toMatchObject({ exitCode: 64, requests: [] });
  });
});

describe('audit', () => {
  it('prints who changed which fields, preferring the person over the key', async () => {
    const actor = { person: 'ana', keyId: 'k-1', keyName: 'ops' };
    const entry = {
      id: 'c-1',
      changedAt: '2026-11-25T09:00:00.000Z',
      kind: 'rule.changed',
      target: 'rule',
      targetId: 'r-1',
    };
    const fields = {
      actor,
      reason: 'too loud',
      before: { enabled: true, name: 'a' },
      after: { enabled: false, name: 'a' },
    };
    const answer = () => ({ entries: [{ ...entry, ...fields }], hasMore: false });
    const { stdout, requests } = await runCli(['audit', '--target', 'rule', '--from', '1h'], { answer });
    expect(requests[0]?.path).toContain('target=rule&from=2026-11-25T09%3A00%3A00.000Z');
    expect(stdout.split('\n')[1]).toBe('2026-11-25T09:00:00Z  ana  rule.changed  r-1  enabled  too loud');
  });
});

describe('incident', () => {
  it('prints the document, or the facts as JSON', async () => {
    const answer = () => ({ from: 'a', to: 'b', changes: [], costs: [], markdown: '# Incident' });
    const { stdout, requests } = await runCli(['incident', '--from', '2h'], { answer });
    expect(stdout.trim()).toBe('# Incident');
    expect(requests[0]?.path).toContain('/api/incident?from=');
    const json = await runCli(['incident', '--json'], { answer });
    expect(JSON.parse(json.stdout)).toEqual({ from: 'a', to: 'b', changes: [], costs: [] });
  });
});

describe('rules revert', () => {
  it('reverts from the version it displayed, so a concurrent change is not lost', async () => {
    const answer = () => ({ id: 'r', name: 'Slow', version: 7, enabled: true, mode: 'enforce' });
    const { requests } = await runCli(['rules', 'revert', 'r', '3', '--yes'], { answer });
    expect(requests[1]).toMatchObject({ path: '/api/guardrails/r/revert', body: { version: 3 } });
    expect(requests[1]?.headers.get('if-match')).toBe('"7"');
    expect(requests[1]?.headers.get('x-agentlens-override')).toBeNull();
  });

  it('overrides the files of a ruleset only with a reason', async () => {
    const answer = () => ({ id: 'r', name: 'Slow', version: 7, enabled: true, mode: 'enforce', ruleset: 'finance' });
    const refused = await runCli(['rules', 'revert', 'r', '3', '--yes'], { answer });
    expect(refused).toMatchObject({ exitCode: 64, stderr: expect.stringContaining('--reason') });
    expect(refused.requests).toHaveLength(1);
    const { requests } = await runCli(['rules', 'revert', 'r', '3', '--reason', 'blocks 理', '--yes'], { answer });
    expect(requests[1]?.headers.get('x-agentlens-override')).toBe("UTF-8''blocks%20%E7%90%86");
  });
});

describe('keys', () => {
  it('prints a new key on stdout and warns on stderr that it is shown once', async () => {
    const made = { id: 'k-1', key: 'agk_live_new', name: 'ci', scopes: ['read'], expiresAt: null };
    const words = ['keys', 'create', 'ci', '--scopes', 'read', '--expires', '30d'];
    const { stdout, stderr, requests } = await runCli(words, { answer: () => made });
    expect(requests[0]?.body).toEqual({ name: 'ci', scopes: ['read'], expiresAt: '2026-12-25T10:00:00.000Z' });
    expect(stdout).toContain('agk_live_new');
    expect(stderr).toContain('not shown again');
  });

  it('finds the key to revoke on any page', async () => {
    const key = (id: string) => ({ id, name: id, scopes: ['read'], revokedAt: null });
    const answer = ({ method, path }: { method: string; path: string }) => {
      if (method === 'DELETE') return { id: 'k-2', revoked: true };
      const isFirst = !path.includes('cursor=');
      return isFirst
        ? { keys: [key('k-1')], hasMore: true, nextCursor: 'more' }
        : { keys: [key('k-2')], hasMore: false };
    };
    const { requests } = await runCli(['keys', 'revoke', 'k-2', '--yes'], { answer });
    expect(requests.map(({ method, path }) => `${method} ${path}`)).toEqual([
      'GET /api/keys',
      'GET /api/keys?cursor=more',
      'DELETE /api/keys/k-2',
    ]);
  });
});

describe('output for programs', () => {
  it.each([['api get /api/runs'], ['api get /api/runs --json']])(
    'is the same JSON without characters that steer a terminal: %s',
    async (line) => {
      const name = 'a\u009b2J\u202eb\u200b';
      const { stdout } = await runCli(line.split(' '), { answer: () => ({ name }) });
      expect(JSON.parse(stdout)).toEqual({ name });
      expect(stdout).not.toMatch(/[\u009b\u202e\u200b]/);
    },
  );
});

describe('demo', () => {
  it('ends when it is interrupted before its stream is open', async () => {
    const interrupt = new AbortController();
    const answer = ({ method, path }: SentRequest) => {
      if (path.startsWith('/api/stream')) {
        interrupt.abort();
        throw new TypeError('fetch failed');
      }
      if (path === '/api/me') return { now: '2026-03-01T12:00:00.000Z' };
      return method === 'POST' ? { id: 'r', name: 'Slow', actionType: 'pause_agent' } : { rules: [] };
    };
    const { exitCode, requests } = await runCli(['demo'], { signal: interrupt.signal, answer });
    expect(exitCode).toBe(130);
    expect(requests.filter(({ method }) => method === 'DELETE')).toHaveLength(3);
  }, 30_000);
});
