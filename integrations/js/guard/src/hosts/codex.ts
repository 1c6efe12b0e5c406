import { denyBefore, denyOther, readShared } from './claude-code.ts';
import {
  exitCodeIn,
  firstLine,
  type HookKind,
  type HostContract,
  isRecord,
  type JsonRecord,
  sizeOf,
  type ToolOutcome,
} from './host.ts';

const EVENTS: Readonly<Record<string, HookKind>> = {
  SessionStart: 'session-start',
  UserPromptSubmit: 'prompt',
  PreToolUse: 'before',
  PostToolUse: 'after',
  SubagentStart: 'sub-agent-start',
  SubagentStop: 'sub-agent-end',
  Stop: 'turn-end',
  SessionEnd: 'session-end',
};

export const codex: HostContract = {
  id: 'codex',
  title: 'Codex',
  prefix: 'cx',
  binary: 'codex',
  tested: { from: '0.169.0', before: '0.172.0' },
  events: EVENTS,
  grade: 'closed except for the timeout of the host',
  holes: [
    'a hook that outlives the timeout of the host; the guard answers 15 s earlier',
    '`write_stdin`: a shell that stays open runs unseen input, so the starter rules block interactive shells',
    '`--disable hooks` and `[features] hooks = false` in a project; managed hooks stay on',
    'web search runs at the provider',
  ],
  changesArguments: true,

  read(name, input) {
    const kind = EVENTS[name];
    if (kind === undefined) return null;
    const event = readShared(name, kind, input);
    const transcript = typeof input.agent_transcript_path === 'string' ? input.agent_transcript_path : event.transcript;
    return kind === 'after' ? { ...event, outcome: outcomeOf(input) } : { ...event, transcript };
  },

  // Members that Codex does not know make the whole answer invalid, and the call then runs.
  say(event, answer) {
    if (answer.kind === 'pass') return '';
    if (answer.kind === 'change')
      return JSON.stringify({
        hookSpecificOutput: {
          hookEventName: event.name,
          permissionDecision: 'allow',
          updatedInput: answer.input,
        },
      });
    return event.kind === 'before' ? denyBefore(event.name, answer.reason, false) : denyOther(event, answer);
  },

  refusesByExit: (event) => event.kind === 'before' || event.kind === 'prompt',
};

/** Codex reports failures as results: an exit code in the text, or `isError` of an MCP server. */
function outcomeOf({ tool_response: response }: JsonRecord): ToolOutcome {
  const bytes = sizeOf(response);
  const exitCode = exitCodeIn(response);
  if (exitCode !== undefined && exitCode !== 0) return { ok: false, error: firstLine(response), exitCode, bytes };
  if (isRecord(response) && response.isError === true) return { ok: false, error: 'the tool reported an error', bytes };
  return { ok: true, bytes, ...(exitCode === undefined ? {} : { exitCode }) };
}
