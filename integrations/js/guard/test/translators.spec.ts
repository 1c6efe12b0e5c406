import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { HOST_IDS, type HookEvent, type HostId, isRecord, type JsonRecord, recordOf } from '../src/hosts/host.ts';
import { HOSTS, matchVersion } from '../src/hosts/index.ts';
import { changedInput, guardedCall, pathsOfPatch } from '../src/judge/tools.ts';

/** Hook inputs that the real hosts sent, as `[event, input]`. */
function samples(id: HostId): [string, JsonRecord][] {
  const file = JSON.parse(readFileSync(new URL(`./samples/${id}.json`, import.meta.url), 'utf8')) as {
    inputs: JsonRecord[];
  };
  return file.inputs.map((sample) => {
    if (id === 'copilot-cli') return [String(sample.event), recordOf(sample.stdin)];
    if (id !== 'opencode') return [String(sample.hook_event_name), sample];
    const i = recordOf(sample.i);
    const name =
      sample.hook_event_name === 'event'
        ? i.type === 'session.created'
          ? 'created'
          : 'usage'
        : sample.hook_event_name;
    const parentID = recordOf(recordOf(i.properties).info).parentID;
    return [
      String(name),
      { ...sample, cwd: '/home/dev/project', mcp: ['notes'], parents: name === 'created' ? [parentID] : [] },
    ];
  });
}

/** What a sample means, in one line. */
function summary({ kind, session, subAgent, use, outcome, usage }: HookEvent): string {
  const call = use === undefined ? undefined : guardedCall(use);
  const parts = [
    kind,
    session,
    subAgent?.id,
    call?.tool,
    call?.args.command ?? call?.args.path ?? call?.args.url,
    outcome === undefined ? undefined : outcome.ok ? 'ok' : 'failed',
    outcome?.exitCode,
    usage === undefined ? undefined : `${usage.input}+${usage.cacheRead}/${usage.output}`,
  ];
  return parts
    .flatMap((part) => (part === undefined ? [] : [typeof part === 'string' ? part : JSON.stringify(part)]))
    .join(' ');
}

const EXPECTED: Readonly<Record<HostId, readonly string[]>> = {
  'claude-code': [
    'session-start uuid-01',
    'prompt uuid-01',
    'before uuid-01 shell exit 3',
    'before uuid-01 edit_file /home/dev/project/a.txt',
    'before uuid-01 write_file /home/dev/project/b.txt',
    'before uuid-01 web_fetch http://127.0.0.1:1/',
    'before uuid-01 mcp.notes.write_note /home/dev/project/note.txt',
    'after uuid-01 edit_file /home/dev/project/a.txt ok',
    'after uuid-01 mcp.notes.write_note /home/dev/project/note.txt ok',
    'after uuid-01 shell exit 3 failed 3',
    'session-end uuid-01',
    'sub-agent-start uuid-01 agent-01',
    'before uuid-01 agent-01 shell echo x > sub-DENYJSON.txt',
    'sub-agent-end uuid-01 agent-01',
    'after uuid-01 agent ok',
    'turn-end uuid-01',
  ],
  codex: [
    'session-start uuid-01',
    'prompt uuid-01',
    'before uuid-01 shell echo x > MODIFY.txt',
    'after uuid-01 shell echo x > CHANGED.txt ok',
    'before uuid-01 edit_file',
    'after uuid-01 edit_file ok 0',
    'before uuid-01 mcp.notes.write_note /home/dev/project/note-DENYJSON.txt',
    'after uuid-01 mcp.notes.write_note /home/dev/project/note2.txt ok',
    'turn-end uuid-01',
    'session-end uuid-01',
    'sub-agent-start uuid-01 uuid-03',
    'before uuid-01 uuid-03 shell echo x > sub-DENYJSON.txt',
    'sub-agent-end uuid-01 uuid-03',
  ],
  'gemini-cli': [
    'session-start uuid-01',
    'before uuid-01 shell exit 3',
    'before uuid-01 write_file /home/dev/project/b.txt',
    'before uuid-01 mcp.notes.write_note /home/dev/project/note.txt',
    'before uuid-01 agent',
    'after uuid-01 shell exit 3 failed 3',
    'after uuid-01 mcp.notes.write_note /home/dev/project/note.txt ok',
    'session-end uuid-01',
  ],
  'qwen-code': [
    'session-start uuid-01',
    'prompt uuid-01',
    'before uuid-01 shell echo x > PLAIN.txt',
    'after uuid-01 shell echo x > PLAIN.txt ok 0',
    'turn-end uuid-01',
    'sub-agent-start uuid-01 general-purpose-call_01',
    'before uuid-01 general-purpose-call_01 shell echo x > sub-DENYJSON.txt',
    'sub-agent-end uuid-01 general-purpose-call_01',
  ],
  'copilot-cli': [
    'session-start uuid-01',
    'prompt uuid-01',
    'before uuid-01 shell echo x > PLAIN.txt',
    // The host also asks for a permission, after its hook.
    '-',
    'after uuid-01 shell echo x > PLAIN.txt ok 0',
    'turn-end uuid-01',
    'session-end uuid-01',
    'sub-agent-start uuid-01 uuid-02',
    'before uuid-01 uuid-02 shell echo x > sub-DENYJSON.txt',
    'after uuid-01 write_file /home/dev/project/b.txt failed',
    'sub-agent-end uuid-01 uuid-02',
  ],
  'kimi-code': [
    'session-start session_01',
    'prompt session_01',
    'before session_01 shell echo a > one.txt',
    'after session_01 shell echo a > one.txt ok',
    'before session_01 shell echo x > refused.txt',
    'after session_01 shell echo x > refused.txt failed',
    'before session_01 shell exit 3',
    'after session_01 shell exit 3 failed 3',
    'before session_01 agent',
    'before session_01 shell echo a > sub.txt',
    'turn-end session_01',
    'after session_01 agent ok',
    'turn-end session_01',
  ],
  opencode: [
    'before ses_01 shell echo x > PLAIN.txt',
    'after ses_01 shell echo x > PLAIN.txt ok 0',
    'before ses_01 mcp.notes.write_note /home/dev/project/note.txt',
    'after ses_01 mcp.notes.write_note /home/dev/project/note.txt ok',
    'session-start ses_01 ses_02',
    'turn-end ses_01 800+400/30',
    'after ses_01 agent ok',
  ],
};

void describe('translators', () => {
  for (const id of HOST_IDS)
    void it(`reads the inputs of ${HOSTS[id].title}`, () => {
      const read = samples(id).map(([event, input]) => {
        const found = HOSTS[id].read(event, input);
        return found === null ? '-' : summary(found);
      });
      assert.deepEqual(read, EXPECTED[id]);
    });

  for (const id of HOST_IDS)
    void it(`says nothing for a call of ${HOSTS[id].title} that is allowed, and its refusal in the form of the host`, () => {
      const [name, input] = samples(id).find(([event]) => HOSTS[id].events[event] === 'before') ?? ['', {}];
      const event = HOSTS[id].read(name, input);
      assert.ok(event !== null);
      assert.equal(HOSTS[id].say(event, { kind: 'pass' }), id === 'opencode' ? '{}' : '');
      const said = HOSTS[id].say(event, { kind: 'deny', reason: 'no', stop: true });
      assert.deepEqual(JSON.parse(said), DENIED[id]);
    });

  for (const id of HOST_IDS.filter((host) => host !== 'opencode'))
    void it(`rejects an input of ${HOSTS[id].title} without a session`, () => {
      const [name, input] = samples(id).find(([event]) => HOSTS[id].events[event] === 'before') ?? ['', {}];
      const { session_id: _one, sessionId: _other, ...rest } = input;
      assert.throws(() => HOSTS[id].read(name, rest), /session/);
    });

  void it('says a refusal by exit code as well, where the host reads it', () => {
    const refused = (id: HostId, kind: HookEvent['kind'], stop = false) =>
      HOSTS[id].refusesByExit?.({ kind, name: 'x', session: 's' }, { kind: 'deny', reason: 'no', stop }) ?? false;
    for (const id of ['codex', 'gemini-cli', 'qwen-code', 'kimi-code'] as const)
      assert.deepEqual([refused(id, 'before', true), refused(id, 'prompt'), refused(id, 'after')], [true, true, false]);
    assert.deepEqual([refused('copilot-cli', 'before'), refused('copilot-cli', 'prompt')], [true, false]);
    assert.deepEqual([refused('claude-code', 'before'), refused('claude-code', 'before', true)], [true, false]);
    assert.equal(refused('opencode', 'before'), false);
  });

  void it('compares versions with the tested range', () => {
    assert.equal(matchVersion(HOSTS.codex, '0.169.3'), 'tested');
    assert.equal(matchVersion(HOSTS.codex, '0.171.0'), 'tested');
    assert.equal(matchVersion(HOSTS.codex, '0.172.0'), 'newer');
    assert.equal(matchVersion(HOSTS.codex, '0.168.9'), 'older');
    assert.equal(matchVersion(HOSTS.codex, undefined), 'unknown');
  });
});

const hookOutput = { hookEventName: 'PreToolUse', permissionDecision: 'deny', permissionDecisionReason: 'no' };
const DENIED: Readonly<Record<HostId, unknown>> = {
  'claude-code': { hookSpecificOutput: hookOutput, continue: false, stopReason: 'no' },
  // Any other member makes the answer invalid, and the call runs.
  codex: { hookSpecificOutput: hookOutput },
  'gemini-cli': { decision: 'deny', reason: 'no', continue: false, stopReason: 'no' },
  'qwen-code': { hookSpecificOutput: hookOutput, continue: false, stopReason: 'no' },
  'copilot-cli': { permissionDecision: 'deny', permissionDecisionReason: 'no' },
  'kimi-code': { hookSpecificOutput: hookOutput },
  opencode: { deny: 'no' },
};

void describe('arguments', () => {
  void it('names the files of a patch', () => {
    const patch =
      '*** Begin Patch\n*** Add File: a.ts\n+x\n*** Update File: b/c.ts\n*** Move to: d.ts\n@@\n*** End Patch';
    assert.deepEqual(pathsOfPatch(patch), ['a.ts', 'b/c.ts', 'd.ts']);
    assert.deepEqual(pathsOfPatch('--- a/x\n+++ b/x\n@@'), ['x']);
  });

  void it('puts a changed argument back under the name of the host', () => {
    const use = { name: 'exec_command', input: { cmd: 'rm x', yield_time_ms: 5 } };
    const { args } = guardedCall(use);
    assert.deepEqual(args, { command: 'rm x' });
    assert.deepEqual(changedInput(use, args, { command: 'ls' }), { cmd: 'ls', yield_time_ms: 5 });
  });

  void it('cannot put back what the host has no argument for', () => {
    const use = { name: 'Bash', input: { command: 'ls' } };
    assert.equal(changedInput(use, { command: 'ls' }, { command: 'ls', sandbox: true }), null);
    assert.ok(isRecord(changedInput(use, { command: 'ls' }, { command: 'pwd' })));
  });
});
