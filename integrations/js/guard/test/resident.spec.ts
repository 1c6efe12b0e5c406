import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { type HostId, recordOf } from '../src/hosts/host.ts';
import { writeInstalled } from '../src/install/installed.ts';
import { askResident, REFUSED } from '../src/resident/ask-resident.ts';
import { type Resident, startResident } from '../src/resident/serve.ts';
import { type GuardConfig, type GuardPaths, type HostSettings, Journal, pathsIn, writeConfig } from '../src/state.ts';
import { ALLOW, BLOCK, FakePlatform, KILLED, PENDING, TERMINATE } from './fake-platform.ts';

const ENFORCED: HostSettings = { mode: 'enforce', fail: 'closed', wait: 30 };

interface HookOutput {
  readonly hookSpecificOutput?: {
    readonly permissionDecision?: string;
    readonly permissionDecisionReason?: string;
    readonly updatedInput?: unknown;
  };
  readonly continue?: boolean;
  readonly decision?: string;
}

void describe('the resident', () => {
  let folder: string;
  let paths: GuardPaths;
  let platform: FakePlatform;
  let resident: Resident | null;
  let url: string;

  const configure = (more: Partial<GuardConfig> = {}) =>
    writeConfig(paths, {
      url,
      key: 'agk_test',
      content: 'full',
      killHost: false,
      hosts: { 'claude-code': ENFORCED, 'gemini-cli': ENFORCED },
      ...more,
    });
  const start = async () => {
    resident = await startResident({ paths, env: { AGENTLENS_ACTOR: 'ada' }, pollMs: 10 });
    assert.ok(resident !== null);
  };
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'guard-'));
    paths = pathsIn(join(folder, 'config'), join(folder, 'state'));
    platform = new FakePlatform();
    url = await platform.start();
    configure();
    await start();
  });
  afterEach(async () => {
    await resident?.stop();
    await platform.stop();
    rmSync(folder, { recursive: true });
  });

  const hook = async (event: string, input: object, host: HostId = 'claude-code'): Promise<HookOutput> => {
    const body = JSON.stringify({ session_id: 's1', cwd: folder, ...input });
    const { status, text } = await askResident(paths, {
      method: 'POST',
      path: `/${host}/${event}`,
      body,
      timeoutMs: 20_000,
    });
    assert.ok(status === 200 || status === REFUSED, readFileSync(paths.log, 'utf8'));
    const [output = '', ...reason] = text.split('\n');
    assert.equal(reason.length > 0, status === REFUSED);
    return output === '' ? {} : (JSON.parse(output) as HookOutput);
  };
  const call = (id: string, command = 'ls', more: object = {}) => ({
    tool_name: 'Bash',
    tool_input: { command },
    tool_use_id: id,
    ...more,
  });
  const asked = (id: string, command = 'ls', more: object = {}) => hook('PreToolUse', call(id, command, more));
  const reported = (id: string, command = 'ls', more: object = {}) =>
    hook('PostToolUse', { ...call(id, command, more), tool_response: { stdout: '' } });
  /** Data of the first event of a kind. */
  const dataOf = (kind: string): Readonly<Record<string, unknown>> => recordOf(platform.events(kind)[0]?.data);
  const verdict = ({ hookSpecificOutput }: HookOutput) => hookSpecificOutput?.permissionDecision ?? 'none';
  const reason = ({ hookSpecificOutput }: HookOutput) => hookSpecificOutput?.permissionDecisionReason ?? '';

  void it('asks about a call in host-independent names and says nothing if it is allowed', async () => {
    assert.deepEqual(await asked('t1', 'rm -rf x'), {});
    const [question] = platform.questions;
    assert.equal(question?.phase, 'tool.before');
    assert.equal(question?.callId, 't1');
    assert.deepEqual(question?.args, { command: 'rm -rf x' });
    assert.deepEqual(question?.tool, { name: 'shell', tags: ['destructive', 'shell', 'host:claude-code'] });
    assert.deepEqual(question?.actor, { externalId: 'ada' });
    const [started] = platform.received;
    assert.equal(started?.path, '/v1/runs/cc-s1/start');
    assert.equal(started?.authorization, 'Bearer agk_test');
  });

  void it('refuses a call with the message of the rule, and lets the next one pass', async () => {
    platform.decide = ({ callId }) => (callId === 't1' ? BLOCK : ALLOW);
    const answer = await asked('t1');
    assert.equal(verdict(answer), 'deny');
    assert.equal(reason(answer), 'Not this');
    assert.equal(answer.continue, undefined);
    assert.deepEqual(await asked('t2'), {});
  });

  void it('reports the result of a call once, without the result itself', async () => {
    await asked('t1');
    await reported('t1');
    await reported('t1');
    await platform.until(() => platform.events('tool.result').length > 0);
    const [event, ...others] = platform.events('tool.result');
    assert.deepEqual(
      others.filter(({ id }) => id !== event?.id),
      [],
    );
    assert.equal(event?.id, 'cc-s1:result:t1');
    assert.deepEqual(event?.data, { callId: 't1', tool: { name: 'shell' }, bytes: 13, outcome: 'success' });
  });

  void it('refuses everything else in a session that a rule ended', async () => {
    platform.decide = () => TERMINATE;
    assert.equal((await asked('t1')).continue, false);
    platform.decide = () => ALLOW;
    assert.equal(verdict(await asked('t2')), 'deny');
    assert.equal((await hook('UserPromptSubmit', { prompt: 'go on' })).decision, 'block');
    assert.deepEqual(await hook('PreToolUse', { ...call('t3'), session_id: 's2' }), {});
    assert.equal(platform.questions.filter(({ callId }) => callId === 't2').length, 0);
  });

  void it('waits for an approval and passes the call once', async () => {
    platform.decide = () => PENDING;
    const waiting = asked('t1');
    await platform.until(() => platform.questions.length > 1);
    platform.decide = () => ALLOW;
    assert.deepEqual(await waiting, {});
    assert.deepEqual([...new Set(platform.questions.map(({ callId }) => callId))], ['t1']);
  });

  void it('asks again as soon as the platform reports a decision', async () => {
    await resident?.stop();
    resident = await startResident({ paths, env: {}, pollMs: 600_000 });
    platform.decide = () => PENDING;
    const waiting = asked('t1');
    await platform.until(() => platform.questions.length > 0 && platform.listeners > 0);
    platform.decide = () => ALLOW;
    platform.push('approval', { approvalId: 'approval-1', status: 'approved' });
    assert.deepEqual(await waiting, {});
  });

  void it('refuses a call whose approval is late, and uses the approval when the call is repeated', async () => {
    configure({ hosts: { 'claude-code': { ...ENFORCED, wait: 0 } } });
    platform.decide = () => PENDING;
    const late = await asked('t1', 'git push');
    assert.match(reason(late), /approval-1/);
    platform.decide = ({ callId }) => (callId === 't1' ? ALLOW : BLOCK);
    // The host gives the repeated call an id of its own.
    assert.deepEqual(await asked('t2', 'git push'), {});
    await reported('t2', 'git push');
    await platform.until(() => platform.events('tool.result').length > 0);
    assert.equal(dataOf('tool.result').callId, 't1');
    assert.equal(platform.events('error').length, 0);
  });

  void it('stops a session that waits for an approval when an operator kills it', async () => {
    platform.decide = () => PENDING;
    const waiting = asked('t1');
    await platform.until(() => platform.questions.length > 0 && platform.listeners > 0);
    platform.push('order', { id: 'o1', scope: 'run', scopeId: 'cc-s1', state: 'killed', reason: 'enough' });
    const answer = await waiting;
    assert.equal(answer.continue, false);
    assert.match(reason(answer), /killed this session: enough/);
    assert.ok(platform.received.some(({ path }) => path === '/v1/control/o1/ack'));
  });

  void it('signs its acknowledgement with the secret of its connection', async () => {
    await asked('t1');
    await platform.until(() => platform.listeners > 0);
    platform.push('connection', { id: 'c1', secret: '5e'.repeat(32) });
    platform.push('order', { id: 'o1', scope: 'run', scopeId: 'cc-s1', state: 'paused', version: 3 });
    const isAcknowledgement = ({ path }: { path: string }) => path === '/v1/control/o1/ack';
    await platform.until(() => platform.received.some(isAcknowledgement));
    const body = platform.received.find(isAcknowledgement)?.body ?? {};
    const text = ['agentlens/ack/v1', 'o1', body.agentId, body.instanceId, 3, 'applied'].join('\n');
    const mac = createHmac('sha256', Buffer.from('5e'.repeat(32), 'hex'))
      .update(text)
      .digest('hex');
    assert.deepEqual(body.signature, { connection: 'c1', version: 3, mac });
  });

  void it('applies the kill of a session to its sub-agents, and lifts it', async () => {
    const inSubAgent = { agent_id: 'a1', agent_type: 'general' };
    await asked('t1', 'ls', inSubAgent);
    const started = platform.received.filter(({ path }) => path.endsWith('/start'));
    assert.deepEqual(
      started.map(({ path, body }) => [path, body.parentRunId]),
      [
        ['/v1/runs/cc-s1/start', undefined],
        ['/v1/runs/cc-s1.a1/start', 'cc-s1'],
      ],
    );
    await platform.until(() => platform.listeners > 0);
    platform.push('order', { id: 'o1', scope: 'run', scopeId: 'cc-s1', state: 'killed' });
    await platform.until(() => platform.received.some(({ path }) => path === '/v1/control/o1/ack'));
    assert.equal(verdict(await asked('t2', 'ls', inSubAgent)), 'deny');
    platform.push('order', { id: 'o2', scope: 'run', scopeId: 'cc-s1', state: 'running' });
    await platform.until(() => platform.received.some(({ path }) => path === '/v1/control/o2/ack'));
    assert.deepEqual(await asked('t3', 'ls', inSubAgent), {});
  });

  void it('follows the platform in a lockdown and does not remember it', async () => {
    platform.decide = () => KILLED;
    assert.equal((await asked('t1')).continue, false);
    assert.equal((await hook('UserPromptSubmit', { prompt: 'x' })).decision, 'block');
    platform.decide = () => ALLOW;
    assert.deepEqual(await asked('t2'), {});
  });

  void it('answers a call with changed arguments in the names of the host', async () => {
    platform.decide = () => ({ ...ALLOW, modifiedArgs: { command: 'ls -l' } });
    assert.deepEqual((await asked('t1')).hookSpecificOutput?.updatedInput, { command: 'ls -l' });
  });

  void it('refuses a call whose arguments would change after they were redacted', async () => {
    platform.decide = () => ({ ...ALLOW, modifiedArgs: { command: 'x' } });
    const answer = await asked('t1', 'curl -H "Authorization: Bearer abc123def456ghi" x');
    assert.equal(verdict(answer), 'deny');
    assert.ok(!JSON.stringify(platform.received).includes('abc123def456ghi'));
    assert.match(JSON.stringify(platform.questions[0]?.tool), /secret-value/);
  });

  const FAILURES: readonly [string, () => ReturnType<FakePlatform['decide']>][] = [
    ['500', () => ({ status: 500 })],
    ['401', () => ({ status: 401, text: '{"error":"Invalid API key"}' })],
    ['400', () => ({ status: 400 })],
    ['200 without a decision', () => ({ status: 200, text: '{"verdict":"ALLOW"}' })],
    ['200 that is no JSON', () => ({ status: 200, text: '<html>' })],
  ];
  for (const [name, decide] of FAILURES)
    void it(`refuses a call if the platform answers ${name}, and lets it pass with --fail open`, async () => {
      platform.decide = decide;
      assert.equal(verdict(await asked('t1')), 'deny');
      configure({ hosts: { 'claude-code': { ...ENFORCED, fail: 'open' } } });
      assert.deepEqual(await asked('t2'), {});
    });

  void it('refuses calls without a platform or a key, and keeps events until there is one', async () => {
    await asked('t1');
    platform.status = 503;
    await reported('t1');
    await platform.until(() => platform.events('tool.result').length > 0);
    await resident?.stop();
    assert.match(readFileSync(paths.spool, 'utf8'), /cc-s1:result:t1/);
    platform.status = 200;
    platform.received.length = 0;
    await start();
    await resident?.stop();
    assert.equal(platform.events('tool.result').length, 1);
    configure({ key: undefined });
    await start();
    assert.match(reason(await asked('t2')), /guard login/);
    configure({ url: 'http://127.0.0.1:9' });
    assert.equal(verdict(await hook('PreToolUse', { ...call('t3'), session_id: 's9' })), 'deny');
  });

  void it('only reports in observe mode', async () => {
    configure({ hosts: {} });
    platform.decide = () => TERMINATE;
    assert.deepEqual(await asked('t1'), {});
    assert.deepEqual(await asked('t2'), {});
    await platform.until(() => platform.questions.length === 2);
    await resident?.stop();
    const notes = [...new Journal(paths.journal).read(0)]
      .filter(({ k }) => k === 'ask')
      .map(({ answer, note }) => [answer, note]);
    assert.deepEqual(notes, [
      ['allow', 'would deny'],
      ['allow', 'would deny'],
    ]);
  });

  void it('raises an alarm and stops the session if a refused call has a result', async () => {
    platform.decide = () => BLOCK;
    await asked('t1');
    platform.decide = () => ALLOW;
    assert.equal((await reported('t1')).continue, false);
    assert.equal(verdict(await asked('t2')), 'deny');
    await platform.until(() => platform.events('error').length > 0);
    const { data } = platform.events('error')[0] as { data: Record<string, unknown> };
    assert.deepEqual([data.reason, data.callId, data.fatal, data.denyIgnored], ['deny-ignored', 't1', true, 1]);
    assert.equal(platform.events('tool.result').length, 0);
    assert.deepEqual(await hook('PreToolUse', { ...call('t9'), session_id: 'other' }), {});
  });

  void it('raises an alarm for the result of a call that was never asked about', async () => {
    await asked('t1');
    assert.equal((await reported('t2')).continue, false);
    await platform.until(() => platform.events('error').length > 0);
    assert.equal(dataOf('error').reason, 'not-asked');
  });

  void it('tells once that another hook changed a call, and lets a harmless change pass', async () => {
    await asked('t1', 'touch a');
    assert.deepEqual(await reported('t1', 'touch b'), {});
    await asked('t2', 'touch a');
    assert.deepEqual(await reported('t2', 'touch c'), {});
    assert.deepEqual(await asked('t3', 'touch a'), {});
    await resident?.stop();
    const errors = platform.events('error').map(({ data }) => recordOf(data));
    assert.deepEqual(
      errors.map(({ reason, args, denyIgnored }) => [reason, args, denyIgnored]),
      [
        ['call-changed', { command: 'touch b' }, 1],
        ['call-changed', { command: 'touch c' }, 0],
      ],
    );
    assert.deepEqual(
      platform.questions.map(({ args }) => recordOf(args).command),
      ['touch a', 'touch b', 'touch a', 'touch c', 'touch a'],
    );
  });

  void it('stops the session if the changed call would have been refused, also after a restart', async () => {
    platform.decide = ({ args }) => (recordOf(args).command === 'touch FORBIDDEN' ? BLOCK : ALLOW);
    await asked('t1', 'touch a');
    await resident?.stop();
    await start();
    assert.equal((await reported('t1', 'touch FORBIDDEN')).continue, false);
    assert.equal(verdict(await asked('t2')), 'deny');
    await platform.until(() => platform.events('error').length === 2);
    assert.deepEqual(
      platform.events('error').map(({ data }) => recordOf(data).reason),
      ['call-changed', 'deny-ignored'],
    );
  });

  void it('takes its own change of a call for the call that was decided', async () => {
    platform.decide = () => ({ ...ALLOW, modifiedArgs: { command: 'touch b' } });
    await asked('t1', 'touch a');
    assert.deepEqual(await reported('t1', 'touch b'), {});
    await resident?.stop();
    assert.equal(platform.events('error').length, 0);
  });

  void it('takes a refused call that is reported as failed for what it is', async () => {
    platform.decide = () => BLOCK;
    await asked('t1');
    platform.decide = () => ALLOW;
    assert.deepEqual(await hook('PostToolUseFailure', { ...call('t1'), error: 'denied' }), {});
    assert.deepEqual(await asked('t2'), {});
  });

  void it('raises no alarm in a session that began before the guard was installed', async () => {
    const transcript = join(folder, 'before.jsonl');
    writeFileSync(transcript, '');
    const known = { files: [], since: statSync(transcript).birthtimeMs + 1_000 };
    writeInstalled(paths, { 'claude-code': known });
    assert.deepEqual(await reported('t1', 'ls', { transcript_path: transcript }), {});
    assert.equal(platform.events('error').length, 0);
    assert.equal((await reported('t2', 'ls', { transcript_path: transcript })).continue, false);
  });

  void it('raises an alarm for the first result of a new session that was never asked about', async () => {
    const transcript = join(folder, 'new.jsonl');
    writeFileSync(transcript, '');
    writeInstalled(paths, { 'claude-code': { files: [], since: statSync(transcript).birthtimeMs - 1_000 } });
    assert.equal((await reported('t1', 'ls', { transcript_path: transcript })).continue, false);
    await platform.until(() => platform.events('error').length > 0);
    assert.equal(dataOf('error').reason, 'not-asked');
  });

  void it('remembers refusals and stops over a restart', async () => {
    platform.decide = ({ callId }) => (callId === 't1' ? BLOCK : TERMINATE);
    await asked('t1');
    await resident?.stop();
    await start();
    assert.equal((await reported('t1')).continue, false);
    await resident?.stop();
    await start();
    platform.decide = () => ALLOW;
    assert.equal(verdict(await asked('t2')), 'deny');
  });

  void it('counts results per call on hosts without call ids', async () => {
    const use = { tool_name: 'run_shell_command', tool_input: { command: 'ls' } };
    const ask = () => hook('BeforeTool', use, 'gemini-cli');
    const report = () => hook('AfterTool', { ...use, tool_response: { llmContent: '' } }, 'gemini-cli');
    platform.decide = () => BLOCK;
    assert.equal((await ask()).decision, 'deny');
    platform.decide = () => ALLOW;
    assert.deepEqual([await ask(), await ask()], [{}, {}]);
    assert.deepEqual([await report(), await report()], [{}, {}]);
    assert.equal((await report()).continue, false);
    await platform.until(() => platform.events('error').length > 0);
  });

  void it('keeps the hooks of a running session when its settings change', async () => {
    assert.equal((await hook('ConfigChange', { source: 'project_settings' })).decision, 'block');
    await platform.until(() => platform.events('error').length > 0);
  });

  void it('refuses a call that does not say which session it belongs to', async () => {
    const { status, text } = await askResident(paths, {
      method: 'POST',
      path: '/claude-code/PreToolUse',
      body: JSON.stringify(call('t1')),
      timeoutMs: 5_000,
    });
    assert.equal(status, REFUSED);
    assert.match(text, /"deny".*session_id/);
  });

  void it('answers 500 to what is no JSON, so that the launcher refuses', async () => {
    const { status, text } = await askResident(paths, {
      method: 'POST',
      path: '/claude-code/PreToolUse',
      body: '{',
      timeoutMs: 5_000,
    });
    assert.deepEqual([status, text], [500, '']);
  });

  void it('reports the model calls of a transcript once, with their last numbers', async () => {
    const transcript = join(folder, 't.jsonl');
    const line = (id: string, output: number) =>
      `${JSON.stringify({ type: 'assistant', message: { id, model: 'claude-sonnet-4-5', usage: { input_tokens: 5, cache_read_input_tokens: 7, output_tokens: output } } })}\n`;
    writeFileSync(transcript, line('m1', 1) + line('m1', 9));
    await asked('t1', 'ls', { transcript_path: transcript });
    await reported('t1', 'ls', { transcript_path: transcript });
    appendFileSync(transcript, line('m2', 3));
    await hook('Stop', { transcript_path: transcript });
    await platform.until(() => platform.events('llm.result').length === 2);
    const sent = platform.events('llm.result').map(({ id, data }) => [id, (data as { tokens: object }).tokens]);
    assert.deepEqual(sent, [
      ['cc-s1:m1', { in: 12, out: 9, cacheRead: 7, cacheWrite: 0 }],
      ['cc-s1:m2', { in: 12, out: 3, cacheRead: 7, cacheWrite: 0 }],
    ]);
  });

  void it('names the repository and its branch, also in a worktree', async () => {
    const [shop, worktree] = [join(folder, 'shop'), join(folder, 'copy')];
    const git = (...words: string[]) => execFileSync('git', ['-C', shop, ...words], { stdio: 'pipe' });
    mkdirSync(join(shop, 'src'), { recursive: true });
    git('init', '-q', '-b', 'main');
    git('-c', 'user.name=dev', '-c', 'user.email=dev@example.com', 'commit', '-q', '--allow-empty', '-m', 'first');
    git('worktree', 'add', '-q', '-b', 'feature/pay', worktree);
    await asked('t1', 'ls', { cwd: join(shop, 'src') });
    await asked('t2', 'ls', { cwd: worktree, session_id: 's2' });
    const tags = ['cc-s1', 'cc-s2'].map((run) => {
      const { body } = platform.received.find(({ path }) => path === `/v1/runs/${run}/start`) ?? {};
      const { project, branch } = recordOf(recordOf(body).tags);
      return { project, branch };
    });
    assert.deepEqual(tags, [
      { project: 'shop', branch: 'main' },
      { project: 'shop', branch: 'feature/pay' },
    ]);
  });

  void it('ends the run with the session', async () => {
    await asked('t1');
    await hook('SessionEnd', { reason: 'other' });
    await platform.until(() => platform.received.some(({ path }) => path === '/v1/runs/cc-s1/end'));
  });

  void it('leaves the socket to a resident that already answers', async () => {
    assert.equal(await startResident({ paths, env: {} }), null);
    assert.deepEqual(await asked('t1'), {});
  });

  void it('leaves the journal and the spool to the resident that owns the socket', async () => {
    const waiting = `${JSON.stringify({ agentId: 'a', event: { id: 'e1', kind: 'tool.result' } })}\n`;
    const oldDay = join(paths.journal, '2001-02-03.jsonl');
    mkdirSync(paths.journal, { recursive: true });
    writeFileSync(paths.spool, waiting);
    writeFileSync(oldDay, '');
    assert.equal(await startResident({ paths, env: {} }), null);
    assert.equal(readFileSync(paths.spool, 'utf8'), waiting);
    assert.deepEqual(platform.events('tool.result'), []);
    assert.ok(existsSync(oldDay));
  });

  void it('takes over the socket of a resident that crashed', async () => {
    await resident?.stop();
    writeFileSync(paths.socket, '');
    await start();
    assert.deepEqual(await asked('t1'), {});
  });
});
