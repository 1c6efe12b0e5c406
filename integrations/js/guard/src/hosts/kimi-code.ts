import { denyBefore, outcomeByEvent, readShared } from './claude-code.ts';
import { type HookKind, type HostContract, recordOf } from './host.ts';

/** Its events of sub-agents have no id of the sub-agent, so calls of a sub-agent are calls of the session. */
const EVENTS: Readonly<Record<string, HookKind>> = {
  SessionStart: 'session-start',
  UserPromptSubmit: 'prompt',
  PreToolUse: 'before',
  PostToolUse: 'after',
  PostToolUseFailure: 'after',
  Stop: 'turn-end',
  SessionEnd: 'session-end',
};

export const kimiCode: HostContract = {
  id: 'kimi-code',
  title: 'Kimi Code',
  prefix: 'km',
  binary: 'kimi',
  tested: { from: '2.1.0', before: '2.2.0' },
  events: EVENTS,
  grade: 'closed except for the timeout of the host',
  holes: [
    'a hook that outlives the timeout of the host; the guard answers 15 s earlier',
    'sub-agents carry no id: their calls and tokens count for the session, and the result of their last call may be missing',
    'no end of a session without a terminal; the guard watches the process instead',
    'tokens are read below `~/.kimi-code`, not where `KIMI_CODE_HOME` leads',
  ],
  changesArguments: false,
  transcripts: { folder: '.kimi-code/sessions', name: 'wire.jsonl' },

  read(name, input) {
    const kind = EVENTS[name];
    if (kind === undefined) return null;
    const event = readShared(name, kind, { ...input, tool_use_id: input.tool_call_id ?? input.tool_use_id });
    if (kind !== 'after') return event;
    const result = { tool_response: input.tool_output, error: recordOf(input.error).message };
    return { ...event, outcome: outcomeByEvent(name === 'PostToolUseFailure', result) };
  },

  say(event, answer) {
    // It knows no member that ends a turn, and reads no other answer.
    return answer.kind === 'deny' && event.kind === 'before' ? denyBefore(event.name, answer.reason, false) : '';
  },

  refusesByExit: (event) => event.kind === 'before' || event.kind === 'prompt',
};
