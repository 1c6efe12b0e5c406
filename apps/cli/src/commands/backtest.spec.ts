import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { runCli, type SentRequest } from '../run-cli.testing.ts';

let folder: string;
const git = (...words: string[]) =>
  execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@example.com', ...words], { cwd: folder });

const ruleset = (limits: Readonly<Record<string, number>>) =>
  JSON.stringify({
    ...{ apiVersion: 'agentlens/v1', ruleset: 'payments' },
    rules: Object.entries(limits).map(([key, value]) => ({
      ...{ key, name: key, conditionType: 'tool_argument', onMissing: 'block', actionType: 'block' },
      conditionConfig: { path: 'amount', type: 'number', operator: 'gt', value },
    })),
  });

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'agentlens-backtest-'));
  mkdirSync(join(folder, 'rules'));
  git('init', '-q', '-b', 'main');
  git('commit', '-q', '--allow-empty', '-m', 'nothing');
  git('tag', 'nothing');
  writeFileSync(join(folder, 'rules/pay.yaml'), ruleset({ small: 10, large: 1_000 }));
  git('add', '-A');
  git('commit', '-qm', 'rules');
  writeFileSync(join(folder, 'rules/pay.yaml'), ruleset({ small: 10, large: 500, huge: 9_000 }));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const RESULT = {
  ...{ asked: 100, blocked: 4, wouldAsk: 0, triggers: 0, falseRejections: { count: 1, judged: 3, rate: 0.01 } },
  ...{ misses: { count: 0, of: 0 }, coverage: { percent: 97, causes: [] } },
  compared: { same: 1, onlyDraft: 3, onlyInForce: 0 },
};

function answer({ method, path }: SentRequest): unknown {
  if (method === 'POST') return { id: 'job-1', status: 'queued' };
  return path.startsWith('/api/backtests') ? { id: 'job-1', status: 'succeeded', result: RESULT } : { rules: [] };
}

const backtest = (...words: string[]) => runCli(['rules', 'backtest', 'rules', ...words], { folder, answer });
const sent = (requests: readonly SentRequest[]) =>
  requests.flatMap(({ method, body }) => (method === 'POST' ? [body as Record<string, { name: string }>] : []));

describe('rules backtest --against', () => {
  it('tests what differs from a commit, beside what the commit says', async () => {
    const { exitCode, stdout, stderr, requests } = await backtest('--against', 'HEAD', '--format', 'markdown');
    expect([exitCode, stderr]).toEqual([0, expect.stringContaining('small is as in HEAD')]);
    const limit = (draft: object | undefined) =>
      (draft as { conditionConfig: { value: number } } | undefined)?.conditionConfig.value;
    expect(sent(requests).map(({ rule, against }) => [limit(rule), limit(against)])).toEqual([
      [500, 1_000],
      [9_000, undefined],
    ]);
    expect(stdout).toContain('| Rule | Stops | False rejections | Against HEAD | Judged | |');
    expect(stdout).toContain('| large | 4 (4 %) | 1 of 3 | +3 −0 | 97 % | ok |');
  });

  it('says why calls cannot be judged, and that none was found', async () => {
    const unknownTags = { ...RESULT, coverage: { percent: 60, causes: [{ cause: 'tags', calls: 40 }] } };
    const said = async (result: object) => {
      const { stdout } = await runCli(['rules', 'backtest', 'rules'], {
        folder,
        answer: (request) =>
          request.path.startsWith('/api/backtests') && request.method === 'GET'
            ? { id: 'job-1', status: 'succeeded', result }
            : answer(request),
      });
      return stdout;
    };
    expect(await said(unknownTags)).toContain(
      '60 % of the calls judged (40 not: the tags of their tools are not known)',
    );
    const none = await said({ ...RESULT, asked: 0, blocked: 0 });
    expect(none).toContain('no call in this time is one that the rule is about');
    expect(none).not.toContain('triggers');
  });

  it('compares with the version in force by default', async () => {
    const { requests, stdout } = await backtest();
    expect(sent(requests).map(({ against }) => against)).toEqual([undefined, undefined, undefined]);
    expect(stdout).toContain('4 of 100 calls (4 %), +3 −0, 1 false rejections of 3 judged');
  });

  it('tests every rule if the commit has no rule files there', async () => {
    const { requests } = await backtest('--against', 'nothing');
    expect(sent(requests)).toHaveLength(3);
  });

  it.each(['unknown', '--output=x'])('says that git does not know the commit %s', async (commit) => {
    const { exitCode, stderr, requests } = await backtest(`--against=${commit}`);
    expect(exitCode).not.toBe(0);
    expect(stderr).toContain('git ls-tree failed');
    expect(stderr).toContain('CI checkouts are often shallow');
    expect(requests).toEqual([]);
  });
});
