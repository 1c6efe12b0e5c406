import { denyBefore, denyOther, outcomeByEvent, readShared } from './claude-form.ts';
import type { HookKind, HostContract } from './host.ts';

const EVENTS: Readonly<Record<string, HookKind>> = {
  SessionStart: 'session-start',
  UserPromptSubmit: 'prompt',
  PreToolUse: 'before',
  PostToolUse: 'after',
  PostToolUseFailure: 'after',
  SubagentStart: 'sub-agent-start',
  SubagentStop: 'sub-agent-end',
  Stop: 'turn-end',
  ConfigChange: 'settings-change',
  SessionEnd: 'session-end',
};

export const claudeCode: HostContract = {
  id: 'claude-code',
  title: 'Claude Code',
  prefix: 'cc',
  binary: 'claude',
  tested: { from: '2.1.295', before: '2.2.0' },
  events: EVENTS,
  grade: 'closed',
  holes: [
    'an answer that is not JSON with exit code 0; the launcher never prints one',
    '`--bare`, `--setting-sources` and `disableAllHooks` in a project turn user hooks off; managed hooks stay on',
    'a background command reports its start, not its output',
  ],
  changesArguments: true,

  read(name, input) {
    const kind = EVENTS[name];
    if (kind === undefined) return null;
    const event = readShared(name, kind, input);
    const transcript = typeof input.agent_transcript_path === 'string' ? input.agent_transcript_path : event.transcript;
    if (kind !== 'after') return { ...event, transcript };
    return { ...event, outcome: outcomeByEvent(name === 'PostToolUseFailure', input) };
  },

  say(event, answer) {
    if (answer.kind === 'pass') return '';
    if (answer.kind === 'change')
      return JSON.stringify({ hookSpecificOutput: { hookEventName: event.name, updatedInput: answer.input } });
    return event.kind === 'before' ? denyBefore(event.name, answer.reason, answer.stop) : denyOther(event, answer);
  },
};
