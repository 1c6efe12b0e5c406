import { AsyncLocalStorage } from 'node:async_hooks';
import { type Guard, parentHere, type RunScope } from '@agentlens/sdk/adapter';
import { AgentScope } from './agent-scope.ts';
import type { Hook, HookInput, HookOutput, Hooks, SdkMessage } from './shapes.ts';

/** Longer than a human is waited for: a hook that is late blocks. Seconds. */
const HOOK_TIMEOUT_S = 24 * 60 * 60;
/** The tools by which an agent calls a sub-agent. */
const SUB_AGENT_TOOLS = new Set(['Agent', 'Task']);

export interface QueryGuardSettings {
  /** What the agent was asked; for the options of its run. */
  readonly prompt?: unknown;
  /** Ends the framework's process. */
  readonly killed: () => void;
  /** The user's own. */
  readonly aborted?: AbortSignal;
}

/** One query: the run of its turn, its sub-agents, and the hooks by which the framework asks and tells of their calls. */
export class QueryGuard {
  readonly #guard: Guard;
  readonly #prompt: unknown;
  readonly #inContext = AsyncLocalStorage.snapshot();
  readonly #parent = parentHere();
  readonly #killed: () => void;
  readonly #children = new Map<string, AgentScope>();
  readonly #claimed = new Map<string, string>();
  readonly #aborted: AbortSignal | undefined;
  #main: AgentScope | undefined;
  #turn: RunScope | undefined;

  constructor(guard: Guard, { prompt, killed, aborted }: QueryGuardSettings) {
    this.#guard = guard;
    this.#prompt = prompt;
    this.#killed = killed;
    this.#aborted = aborted;
  }

  /** The run of the turn that goes on, or that was the last one. */
  get turn(): RunScope | undefined {
    return this.#turn;
  }

  /** The user's hooks with ours after them: a refusal wins over whatever else is answered. */
  hooksWith(own: Hooks = {}): Hooks {
    const { failMode } = this.#guard.lens;
    const matcher = (hook: Hook) => ({
      ...{ hooks: [hook], timeout: HOOK_TIMEOUT_S },
      // A hook that throws lets the call happen, unless it is told otherwise.
      ...(failMode === 'closed' ? { onFailure: 'block' as const } : {}),
    });
    const added = Object.entries(this.#hooks()).map(([event, hook]) => [event, [...(own[event] ?? []), matcher(hook)]]);
    return { ...own, ...Object.fromEntries(added) };
  }

  /** What the framework tells of its model calls, and of the end of a turn. */
  async message(message: SdkMessage): Promise<void> {
    const { type, event, parent_tool_use_id: parentCall, session_id } = message;
    if (type === 'stream_event' && event !== undefined) await this.#ofCall(parentCall, session_id).modelEvent(event);
    if (type !== 'result' || this.#main === undefined) return;
    const main = this.#main;
    this.#main = undefined;
    const failed = message.is_error === true ? 'error' : 'success';
    await main.end(this.#aborted?.aborted ? 'interrupted' : failed);
  }

  /** However the query ended. */
  async end(error: unknown): Promise<void> {
    const open = [...this.#children.values(), ...(this.#main === undefined ? [] : [this.#main])];
    this.#children.clear();
    this.#main = undefined;
    for (const agent of open) {
      const scope = await agent.scope;
      if (error !== undefined) scope.noteFailure(error);
      await agent.end('interrupted');
    }
  }

  #hooks(): Readonly<Record<string, Hook>> {
    return {
      UserPromptSubmit: async (input) => {
        const why = await this.#of(input).gateModel([{ role: 'user', content: input.prompt ?? '' }]);
        return why === undefined ? {} : { decision: 'block', reason: why };
      },
      PreToolUse: async (input, _id, { signal }) => {
        if (!this.#aborted?.aborted) return this.#of(input).beforeTool(input, signal);
        // After an abort the framework goes on for up to two seconds.
        const hookSpecificOutput = { hookEventName: 'PreToolUse', permissionDecision: 'deny' };
        return { continue: false, stopReason: 'aborted by the caller', hookSpecificOutput };
      },
      PostToolUse: (input) => this.#of(input).afterTool(input),
      PostToolUseFailure: (input) => this.#of(input).afterTool({ ...input, error: input.error ?? 'failed' }),
      PostToolBatch: async (input): Promise<HookOutput> => {
        const results = (input.tool_calls ?? []).map(({ tool_use_id: toolCallId, tool_response: output }) => ({
          role: 'tool',
          content: [{ type: 'tool_result', toolCallId, output }],
        }));
        const why = await this.#of(input).gateModel(results);
        return why === undefined ? {} : { continue: false, stopReason: why };
      },
      SubagentStart: async (input) => {
        if (input.agent_id !== undefined) this.#children.set(input.agent_id, await this.#child(input));
        return {};
      },
      SubagentStop: async ({ agent_id = '' }) => {
        const child = this.#children.get(agent_id);
        this.#children.delete(agent_id);
        await child?.end('success');
        return {};
      },
    };
  }

  #of({ agent_id, session_id }: HookInput): AgentScope {
    return (agent_id === undefined ? undefined : this.#children.get(agent_id)) ?? this.#current(session_id);
  }

  #ofCall(parentCall: string | null | undefined, sessionId: string | undefined): AgentScope {
    const agentId = parentCall ? this.#claimed.get(parentCall) : undefined;
    return (agentId === undefined ? undefined : this.#children.get(agentId)) ?? this.#current(sessionId);
  }

  #current(sessionId: string | undefined): AgentScope {
    if (this.#main !== undefined) return this.#main;
    const opened = this.#open(this.#parent, sessionId).then((scope) => {
      this.#turn = scope;
      return scope;
    });
    this.#main = new AgentScope(opened);
    return this.#main;
  }

  async #open(parent: ReturnType<typeof parentHere>, sessionId?: string): Promise<RunScope> {
    const scope = await this.#inContext(() => this.#guard.open(this.#prompt, parent, { sessionId }));
    const { signal } = scope;
    if (signal.aborted) this.#killed();
    signal.addEventListener('abort', () => this.#killed(), { once: true });
    return scope;
  }

  /** The framework does not say which call a sub-agent is: it is the oldest that no other one is. */
  async #child({ agent_id = '', session_id }: HookInput): Promise<AgentScope> {
    const { run, tools } = await this.#current(session_id).scope;
    const call = tools.open.find(({ id, name }) => SUB_AGENT_TOOLS.has(name) && !this.#claimed.has(id));
    if (call !== undefined) this.#claimed.set(call.id, agent_id);
    const child = new AgentScope(this.#open(call === undefined ? this.#parent : { run, callId: call.id }, session_id));
    await child.scope;
    return child;
  }
}
