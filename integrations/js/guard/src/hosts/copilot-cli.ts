import {
  exitCodeIn,
  firstLine,
  type HookKind,
  type HostContract,
  type JsonRecord,
  need,
  recordOf,
  sizeOf,
  text,
  type ToolUse,
} from './host.ts';

const EVENTS: Readonly<Record<string, HookKind>> = {
  sessionStart: 'session-start',
  userPromptSubmitted: 'prompt',
  preToolUse: 'before',
  postToolUse: 'after',
  postToolUseFailure: 'after',
  subagentStart: 'sub-agent-start',
  subagentStop: 'sub-agent-end',
  agentStop: 'turn-end',
  sessionEnd: 'session-end',
};

export const copilotCli: HostContract = {
  id: 'copilot-cli',
  title: 'Copilot CLI',
  prefix: 'cp',
  binary: 'copilot',
  tested: { from: '1.0.102', before: '1.1.0' },
  events: EVENTS,
  grade: 'closed except for the timeout of the host',
  holes: [
    'a hook that outlives the timeout of the host; the guard answers 15 s earlier',
    'tokens are written at the end of a session, so budgets lag by one session',
    'a prompt cannot be refused; its first call is',
    'calls have no ids: equal calls in parallel are counted, not told apart',
  ],
  changesArguments: false,

  read(name, input) {
    const kind = EVENTS[name];
    if (kind === undefined) return null;
    const own = need(input, 'sessionId');
    const [agentId, parent] = [text(input.agentId), text(input.parentAgentId)];
    const event = {
      ...{ kind, name },
      // A sub-agent has a session of its own; the root is its parent.
      session: agentId === own && parent !== undefined ? parent : own,
      ...(agentId === undefined ? {} : { subAgent: { id: agentId, type: text(input.agentType) } }),
      cwd: text(input.cwd),
      transcript: text(input.transcriptPath),
    };
    if (kind === 'before') return { ...event, use: useOf(input) };
    if (kind !== 'after') return event;
    const result = recordOf(input.toolResult);
    const exitCode = exitCodeIn(result.textResultForLlm);
    const failed = name === 'postToolUseFailure' || (text(result.resultType) ?? 'success') !== 'success';
    const error = firstLine(input.error) ?? firstLine(result.error) ?? text(result.resultType) ?? 'failed';
    const ok = !failed && (exitCode ?? 0) === 0;
    return { ...event, use: useOf(input), outcome: { ok, exitCode, bytes: sizeOf(result), ...(ok ? {} : { error }) } };
  },

  say(event, answer) {
    if (answer.kind !== 'deny' || event.kind !== 'before') return '';
    return JSON.stringify({ permissionDecision: 'deny', permissionDecisionReason: answer.reason });
  },

  refusesByExit: (event) => event.kind === 'before',
};

/** MCP tools are named `server-tool`; tools of the host have no hyphen. */
function useOf(input: JsonRecord): ToolUse {
  const name = need(input, 'toolName');
  const given = typeof input.toolArgs === 'string' ? parsed(input.toolArgs) : input.toolArgs;
  const [, server, tool] = /^([^-]+)-(.+)$/.exec(name) ?? [];
  const mcp = server === undefined || tool === undefined ? undefined : { server, tool };
  return { name, input: recordOf(given), mcp };
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    // Rules see the text that could not be read.
    return { input: json };
  }
}
