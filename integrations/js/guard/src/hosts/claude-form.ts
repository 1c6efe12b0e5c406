import {
  exitCodeIn,
  firstLine,
  type HookAnswer,
  type HookEvent,
  type HookKind,
  type JsonRecord,
  need,
  recordOf,
  sizeOf,
  text,
  type ToolOutcome,
  type ToolUse,
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
export function denyOther(event: HookEvent, answer: Extract<HookAnswer, { kind: 'deny' }>): string {
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
