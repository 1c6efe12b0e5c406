import { outcomeByEvent, readShared } from './claude-code.ts';
import {
  exitCodeIn,
  firstLine,
  type HookKind,
  type HostContract,
  type JsonRecord,
  recordOf,
  sizeOf,
  type ToolOutcome,
} from './host.ts';

const EVENTS: Readonly<Record<string, HookKind>> = {
  SessionStart: 'session-start',
  BeforeAgent: 'prompt',
  BeforeTool: 'before',
  AfterTool: 'after',
  AfterAgent: 'turn-end',
  SessionEnd: 'session-end',
};

export const geminiCli: HostContract = {
  id: 'gemini-cli',
  title: 'Gemini CLI',
  prefix: 'gm',
  binary: 'gemini',
  tested: { from: '0.61.0', before: '0.62.0' },
  events: EVENTS,
  grade: 'closed except for the timeout of the host',
  holes: [
    'a hook that outlives the timeout of the host; the guard answers 15 s earlier',
    '`hooksConfig.enabled: false` in a project; managed hooks stay on',
    'calls have no ids: equal calls in parallel are counted, not told apart',
    'calls of a sub-agent look like those of its parent',
  ],
  changesArguments: true,

  read(name, input) {
    const kind = EVENTS[name];
    if (kind === undefined) return null;
    const event = readShared(name, kind, input);
    return kind === 'after' ? { ...event, outcome: outcomeOf(input) } : event;
  },

  say(event, answer) {
    if (answer.kind === 'pass') return '';
    if (answer.kind === 'change')
      return JSON.stringify({ hookSpecificOutput: { hookEventName: event.name, tool_input: answer.input } });
    const { reason, stop } = answer;
    const ending = stop ? { continue: false, stopReason: reason } : {};
    if (event.kind === 'before' || event.kind === 'prompt')
      return JSON.stringify({ decision: 'deny', reason, ...ending });
    return event.kind === 'after' && stop ? JSON.stringify(ending) : '';
  },

  refusesByExit: (event) => event.kind === 'before' || event.kind === 'prompt',
};

function outcomeOf(input: JsonRecord): ToolOutcome {
  const response = recordOf(input.tool_response);
  const exitCode = exitCodeIn(response.returnDisplay) ?? exitCodeIn(response.llmContent);
  const error = response.error ?? input.error;
  if (error !== undefined && error !== null) {
    const message = typeof error === 'string' ? error : recordOf(error).message;
    return { ok: false, error: firstLine(message) ?? 'failed', exitCode, bytes: sizeOf(response) };
  }
  if (exitCode !== undefined && exitCode !== 0)
    return { ok: false, error: `exit code ${exitCode}`, exitCode, bytes: sizeOf(response) };
  return { ...outcomeByEvent(false, input), ...(exitCode === undefined ? {} : { exitCode }) };
}
