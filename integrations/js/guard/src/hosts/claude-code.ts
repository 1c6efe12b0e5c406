import {
  exitCodeIn,
  firstLine,
  type HookEvent,
  type HookKind,
  type HostContract,
  type JsonRecord,
  need,
  recordOf,
  type Refusal,
  sizeOf,
  type ToolOutcome,
  type ToolUse,
  text,
} from './host.ts';

/* The hook inputs that Claude Code introduced; Codex, Qwen Code and Gemini CLI use variations of them. */

/** Reads the members that all of these hosts share. */
export function readShared(name: string, kind: HookKind, input: JsonRecord): HookEvent {
  const session = need(input, 'session_id');
  const agentId = text(input.agent_id);
  return {
    ...{ kind, name, session },
    cwd: text(input.cwd),
    transcript: text(input.transcript_path),
    model: text(input.model),
    ...(agentId === undefined ? {} : { subAgent: { id: agentId, type: text(input.agent_type) } }),
    ...(kind === 'before' || kind === 'after' ? { use: readUse(input) } : {}),
  };
}

function readUse(input: JsonRecord): ToolUse {
  const name = need(input, 'tool_name');
  return {
    name,
    input: typeof input.tool_input === 'string' ? { input: input.tool_input } : recordOf(input.tool_input),
    id: text(input.tool_use_id),
    mcp: mcpOf(name, input),
  };
}

/** `mcp__server__tool`, or what the host says in `mcp_context`. */
function mcpOf(name: string, input: JsonRecord): ToolUse['mcp'] {
  const context = recordOf(input.mcp_context);
  const [server, tool] = [text(context.server_name), text(context.tool_name)];
  if (server !== undefined && tool !== undefined) return { server, tool };
  const [, inName, rest] = /^mcp__(.+?)__(.+)$/s.exec(name) ?? [];
  return inName === undefined || rest === undefined ? undefined : { server: inName, tool: rest };
}

/** Outcome of a host that reports failures as an event of their own. */
export function outcomeByEvent(failed: boolean, input: JsonRecord): ToolOutcome {
  const durationMs = typeof input.duration_ms === 'number' ? input.duration_ms : undefined;
  if (!failed) return { ok: true, durationMs, bytes: sizeOf(input.tool_response) };
  return { ok: false, error: firstLine(input.error) ?? 'failed', exitCode: exitCodeIn(input.error), durationMs };
}

/** The refusal of a `PreToolUse` hook. `stop` also ends the turn on hosts that honour it beside the refusal. */
export function denyBefore(name: string, reason: string, stop: boolean): string {
  return JSON.stringify({
    hookSpecificOutput: { hookEventName: name, permissionDecision: 'deny', permissionDecisionReason: reason },
    ...(stop ? { continue: false, stopReason: reason } : {}),
  });
}

/** Refusals of events other than tool calls. */
export function denyOther(event: HookEvent, answer: Refusal): string {
  switch (event.kind) {
    case 'prompt':
    case 'settings-change':
      return JSON.stringify({ decision: 'block', reason: answer.reason });
    case 'after':
      return answer.stop ? JSON.stringify({ continue: false, stopReason: answer.reason }) : '';
    default:
      return '';
  }
}

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

  // It reads the answer past other lines, and only the answer can end the turn.
  refusesByExit: (event, { stop }) => event.kind === 'before' && !stop,
};
