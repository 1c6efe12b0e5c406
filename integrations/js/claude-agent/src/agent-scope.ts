import { isAgentStopped, type LlmResponse } from '@agentlens/sdk';
import { type ModelCall, type RunScope, refusalText } from '@agentlens/sdk/adapter';
import type { ApiEvent, HookInput, HookOutput } from './shapes.ts';
import { StreamedAnswer } from './streamed-answer.ts';

/** One agent of a query, the main one or a sub-agent: its run, and the model call that goes on in it. */
export class AgentScope {
  readonly scope: Promise<RunScope>;
  #call: ModelCall | undefined;
  #answer: StreamedAnswer | undefined;
  readonly #recorded: (response: LlmResponse) => void;
  #gates = 0;
  #answers = 0;

  /** `recorded` receives each response of a model. */
  constructor(scope: Promise<RunScope>, recorded: (response: LlmResponse) => void) {
    this.scope = scope;
    this.#recorded = recorded;
  }

  /** Model calls of a sub-agent that have no answer yet. No gate precedes its first one. */
  get unanswered(): number {
    return this.#gates + 1 - this.#answers;
  }

  /** Before a model call; undefined, or why it must not happen. */
  async gateModel(messages: readonly { role: string; content: unknown }[]): Promise<string | undefined> {
    const scope = await this.scope;
    try {
      this.#call ??= await scope.beginModel(messages);
      this.#gates += 1;
      return undefined;
    } catch (error) {
      if (isAgentStopped(error)) return refusalText(error.decision);
      throw error;
    }
  }

  async modelEvent(event: ApiEvent): Promise<void> {
    if (event.type === 'message_start') this.#answer = new StreamedAnswer();
    this.#answer?.take(event);
    if (event.type !== 'message_stop' || this.#answer === undefined) return;
    const answer = this.#answer;
    this.#answer = undefined;
    await this.answered(answer.response);
    const scope = await this.scope;
    for (const { result, ...tool } of answer.providerTools) await scope.observeTool(tool, { result, durationMs: 0 });
  }

  /** Records an answer: of the call that a hook announced, or of one that has happened. */
  async answered(response: LlmResponse): Promise<void> {
    const call = this.#call;
    this.#call = undefined;
    this.#answers += 1;
    this.#recorded(response);
    const scope = await this.scope;
    if (call !== undefined) await call.answered(response);
    else await scope.run.afterLlm(response);
  }

  /** A call has to be decided: what its hook answers. */
  async beforeTool(input: HookInput, signal: AbortSignal): Promise<HookOutput> {
    const scope = await this.scope;
    const { tool_name: name = '', tool_input: args, tool_use_id: id } = input;
    const decision = await scope.tools.before({ id, name, args }, { signal });
    const hookEventName = 'PreToolUse';
    if (decision.verdict === 'BLOCK') {
      const permissionDecisionReason = refusalText(decision);
      const denied = { hookEventName, permissionDecision: 'deny', permissionDecisionReason };
      const ends = decision.control === 'TERMINATE' ? { continue: false, stopReason: decision.message } : {};
      return { ...ends, hookSpecificOutput: denied };
    }
    if (decision.args === args) return {};
    // The framework takes changed arguments only together with a permission.
    return { hookSpecificOutput: { hookEventName, permissionDecision: 'allow', updatedInput: decision.args } };
  }

  async afterTool({ tool_use_id: id = '', tool_response: result, error, duration_ms }: HookInput): Promise<HookOutput> {
    const scope = await this.scope;
    const decision = await scope.tools.after(id, { result, error, durationMs: duration_ms });
    if (decision?.verdict !== 'BLOCK' || error !== undefined) return {};
    const ends = decision.control === 'TERMINATE' ? { continue: false, stopReason: decision.message } : {};
    const withheld = { hookEventName: 'PostToolUse', updatedToolOutput: refusalText(decision) };
    return { ...ends, hookSpecificOutput: withheld };
  }

  /** Calls that the user's own permissions refused after they were decided have no result. */
  async end(status: 'success' | 'error' | 'interrupted'): Promise<void> {
    const scope = await this.scope;
    for (const { id } of scope.tools.open)
      if (status === 'interrupted') await scope.tools.after(id, { error: new Error('interrupted') });
      else scope.tools.leave(id);
    // Announced, and never answered.
    if (status === 'error') await this.#call?.failed({ name: 'unknown' }, new Error('the model call failed'));
    this.#call = undefined;
    await scope.end(status);
  }
}
