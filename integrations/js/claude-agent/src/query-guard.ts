import { AsyncLocalStorage } from 'node:async_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import type { LlmResponse } from '@agentlens/sdk';
import { type Guard, parentHere, type RunScope } from '@agentlens/sdk/adapter';
import { AgentScope } from './agent-scope.ts';
import { responseOf } from './model-response.ts';
import type { Hook, HookInput, HookOutput, Hooks, SdkMessage, SubAgentResponse } from './shapes.ts';
import { SubAgentTranscript } from './sub-agent-transcript.ts';
import { UsageLedger } from './usage-ledger.ts';

/** Longer than a human is waited for: a hook that is late blocks. Seconds. */
const HOOK_TIMEOUT_S = 24 * 60 * 60;
/** The framework writes a transcript within milliseconds of what it reports, later on a busy machine. */
const TRANSCRIPT_PATIENCE_MS = 2_000;
const TRANSCRIPT_POLL_MS = 20;
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

interface SubAgent {
  readonly agent: AgentScope;
  readonly transcript: SubAgentTranscript;
  hasStopped?: boolean;
  /** Its call returned before it stopped. */
  isInBackground?: boolean;
}

/** One query: the run of its turn, its sub-agents, and the hooks through which the framework asks about and reports their calls. */
export class QueryGuard {
  readonly #guard: Guard;
  readonly #prompt: unknown;
  readonly #inContext = AsyncLocalStorage.snapshot();
  readonly #parent = parentHere();
  readonly #killed: () => void;
  readonly #children = new Map<string, SubAgent>();
  readonly #ledger = new UsageLedger();
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

  /** The user's hooks with ours after them: a refusal wins over every other answer. */
  hooksWith(own: Hooks = {}): Hooks {
    const { failMode } = this.#guard.lens;
    const matcher = (hook: Hook) => ({
      ...{ hooks: [hook], timeout: HOOK_TIMEOUT_S },
      // A hook that throws lets the call happen, unless a later hook refuses it.
      ...(failMode === 'closed' ? { onFailure: 'block' as const } : {}),
    });
    const added = Object.entries(this.#hooks()).map(([event, hook]) => [event, [...(own[event] ?? []), matcher(hook)]]);
    return { ...own, ...Object.fromEntries(added) };
  }

  /** What the framework reports about its model calls and the end of a turn. */
  async message(message: SdkMessage): Promise<void> {
    const { type, event, parent_tool_use_id: parentCall, session_id } = message;
    if (type === 'stream_event' && event !== undefined) await this.#ofCall(parentCall, session_id).modelEvent(event);
    if (type === 'system' && message.subtype === 'task_notification') await this.#ended(message.task_id);
    if (type !== 'result' || this.#main === undefined) return;
    const main = this.#main;
    for (const [id, { hasStopped }] of this.#children) if (hasStopped) await this.#finish(id);
    for (const response of this.#ledger.settle(message)) await main.answered(response);
    this.#main = undefined;
    const failed = message.is_error === true ? 'error' : 'success';
    await main.end(this.#aborted?.aborted ? 'interrupted' : failed);
  }

  /** However the query ended. */
  async end(error: unknown): Promise<void> {
    const children = [...this.#children.values()].map(({ agent }) => agent);
    const open = [...children, ...(this.#main === undefined ? [] : [this.#main])];
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
      PostToolUse: async (input) => {
        if (SUB_AGENT_TOOLS.has(input.tool_name ?? '')) await this.#returned(input.tool_response);
        return this.#of(input).afterTool(input);
      },
      PostToolUseFailure: (input) => this.#of(input).afterTool({ ...input, error: input.error ?? 'failed' }),
      PostToolBatch: async (input): Promise<HookOutput> => {
        const results = (input.tool_calls ?? []).map(({ tool_use_id: toolCallId, tool_response: output }) => ({
          role: 'tool',
          content: [{ type: 'tool_result', toolCallId, output }],
        }));
        const child = this.#children.get(input.agent_id ?? '');
        if (child !== undefined) await this.#readTranscript(child);
        const why = await this.#of(input).gateModel(results);
        return why === undefined ? {} : { continue: false, stopReason: why };
      },
      SubagentStart: async (input) => {
        const { agent_id: id, transcript_path: path } = input;
        if (id !== undefined)
          this.#children.set(id, { agent: await this.#child(input), transcript: new SubAgentTranscript(path, id) });
        return {};
      },
      SubagentStop: async ({ agent_id = '' }) => {
        // Its last answer is not in the transcript yet: the call that it is brings it, or the end of the turn.
        const child = this.#children.get(agent_id);
        if (child !== undefined) child.hasStopped = true;
        return {};
      },
    };
  }

  readonly #recorded = (response: LlmResponse) => this.#ledger.record(response);

  async #readTranscript({ agent, transcript }: SubAgent): Promise<void> {
    for (const response of await transcript.read()) await agent.answered(response);
  }

  /** Reads until the transcript has all answers except the last `except`, or patience ends. */
  async #completeTranscript(child: SubAgent, except: 0 | 1): Promise<void> {
    const { agent, transcript } = child;
    const until = performance.now() + TRANSCRIPT_PATIENCE_MS;
    await this.#readTranscript(child);
    while (agent.unanswered > except && transcript.isHere && performance.now() < until) {
      await delay(TRANSCRIPT_POLL_MS);
      await this.#readTranscript(child);
    }
  }

  /** A sub-agent's call has its result, which tells the usage of its last model call unless it goes on in the background. */
  async #returned(response: unknown): Promise<void> {
    const { agentId = '', content = [], resolvedModel = 'unknown', usage } = (response ?? {}) as SubAgentResponse;
    const child = this.#children.get(agentId);
    if (child === undefined) return;
    if (usage === undefined) {
      child.isInBackground = true;
      return;
    }
    await this.#completeTranscript(child, 1);
    if (child.agent.unanswered > 0) await child.agent.answered(responseOf(resolvedModel, usage, content));
    // Without another look at the transcript, which may have the same answer by now.
    await this.#close(agentId, child);
  }

  /** A sub-agent in the background has ended, whose call returned long ago. */
  async #ended(agentId: string | undefined): Promise<void> {
    const child = agentId === undefined ? undefined : this.#children.get(agentId);
    if (child?.hasStopped && child.isInBackground) await this.#finish(agentId);
  }

  async #finish(agentId: string | undefined): Promise<void> {
    const child = agentId === undefined ? undefined : this.#children.get(agentId);
    if (agentId === undefined || child === undefined) return;
    if (child.agent.unanswered > 0) await this.#completeTranscript(child, 0);
    await this.#close(agentId, child);
  }

  async #close(agentId: string, { agent }: SubAgent): Promise<void> {
    this.#children.delete(agentId);
    await agent.end('success');
  }

  #of({ agent_id, session_id }: HookInput): AgentScope {
    return (agent_id === undefined ? undefined : this.#children.get(agent_id)?.agent) ?? this.#current(session_id);
  }

  #ofCall(parentCall: string | null | undefined, sessionId: string | undefined): AgentScope {
    const agentId = parentCall ? this.#claimed.get(parentCall) : undefined;
    return (agentId === undefined ? undefined : this.#children.get(agentId)?.agent) ?? this.#current(sessionId);
  }

  #current(sessionId: string | undefined): AgentScope {
    if (this.#main !== undefined) return this.#main;
    const opened = this.#open(this.#parent, sessionId).then((scope) => {
      this.#turn = scope;
      return scope;
    });
    this.#main = new AgentScope(opened, this.#recorded);
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
    const parent = call === undefined ? this.#parent : { run, callId: call.id };
    const child = new AgentScope(this.#open(parent, session_id), this.#recorded);
    await child.scope;
    return child;
  }
}
