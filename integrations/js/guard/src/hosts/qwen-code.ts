import { denyBefore, denyOther, outcomeByEvent, readShared } from './claude-code.ts';
import { exitCodeIn, type HookKind, type HostContract, recordOf, text } from './host.ts';

const EVENTS: Readonly<Record<string, HookKind>> = {
  SessionStart: 'session-start',
  UserPromptSubmit: 'prompt',
  PreToolUse: 'before',
  PostToolUse: 'after',
  PostToolUseFailure: 'after',
  SubagentStart: 'sub-agent-start',
  SubagentStop: 'sub-agent-end',
  Stop: 'turn-end',
  SessionEnd: 'session-end',
};

export const qwenCode: HostContract = {
  id: 'qwen-code',
  title: 'Qwen Code',
  prefix: 'qw',
  binary: 'qwen',
  tested: { from: '0.24.4', before: '0.25.0' },
  events: EVENTS,
  grade: 'closed except for the timeout of the host',
  holes: [
    'a hook that outlives the timeout of the host; the guard answers 15 s earlier',
    '`disableAllHooks` in a project turns user hooks off',
    'no end of a session without a terminal; the guard watches the process instead',
  ],
  changesArguments: false,

  read(name, input) {
    const kind = EVENTS[name];
    if (kind === undefined) return null;
    const event = readShared(name, kind, input);
    // The id of a sub-agent is its type and the call that started it.
    const { subAgent } = event;
    const type = subAgent?.type ?? /^(.+)-call_/.exec(subAgent?.id ?? '')?.[1];
    const toolUseId = type === undefined ? undefined : subAgent?.id.slice(type.length + 1);
    const scoped = subAgent === undefined ? event : { ...event, subAgent: { ...subAgent, type, toolUseId } };
    const transcript = text(input.agent_transcript_path) ?? event.transcript;
    if (kind !== 'after') return { ...scoped, transcript };
    const outcome = outcomeByEvent(name === 'PostToolUseFailure', input);
    const exitCode = exitCodeIn(recordOf(input.tool_response).llmContent) ?? outcome.exitCode;
    return { ...scoped, outcome: { ...outcome, exitCode, ok: outcome.ok && (exitCode ?? 0) === 0 } };
  },

  say(event, answer) {
    if (answer.kind !== 'deny') return '';
    return event.kind === 'before' ? denyBefore(event.name, answer.reason, answer.stop) : denyOther(event, answer);
  },

  refusesByExit: (event) => event.kind === 'before' || event.kind === 'prompt',
};
