import type { Decision } from '@agentlens/sdk';
import { AgentStopped, blockedResult } from '@agentlens/sdk';
import type { Guard } from '@agentlens/sdk/adapter';
import type { ToolHookContext, ToolHooks } from './shapes.ts';

/** What was decided about results, until the processor takes them out of the messages. */
export class WithheldResults {
  readonly #byCall = new Map<string, Decision>();

  add(callId: string, decision: Decision): void {
    this.#byCall.set(callId, decision);
  }

  take(callId: string): Decision | undefined {
    const decision = this.#byCall.get(callId);
    this.#byCall.delete(callId);
    return decision;
  }
}

const OURS = new WeakSet<object>();

/** The user's hooks inside of ours: his see a call only if it may happen, and cannot displace the decision. */
export function guardHooks(guard: Guard, withheld: WithheldResults, own: ToolHooks = {}): ToolHooks {
  if (OURS.has(own)) return own;
  const ids = new WeakMap<object, string>();
  const hooks: ToolHooks = {
    async beforeToolCall(hook) {
      const { toolName: name, input: args } = hook;
      const scope = guard.here();
      const decision = await scope.tools.before({ id: idOf(hook), name, args }, { signal: hook.context?.abortSignal });
      if (decision.verdict === 'BLOCK') {
        // Ends the loop, and comes out to the caller.
        if (decision.control === 'TERMINATE') throw new AgentStopped(decision);
        return { proceed: false, output: blockedResult(decision) };
      }
      if (decision.args !== args) replace(hook.input, decision.args);
      const answer = await own.beforeToolCall?.(hook);
      if (isRefusal(answer))
        await scope.tools.after(decision.callId, { error: new Error("refused by the agent's own hook") });
      else if (hook.context !== undefined) ids.set(hook.context, decision.callId);
      return answer;
    },
    async afterToolCall(hook) {
      const { context, output: result, error } = hook;
      const id = (context === undefined ? undefined : ids.get(context)) ?? idOf(hook);
      const scope = guard.here();
      const decision = id === undefined ? undefined : await scope.tools.after(id, { result, error });
      if (decision?.verdict === 'BLOCK') withheld.add(decision.callId, decision);
      await own.afterToolCall?.(hook);
    },
  };
  OURS.add(hooks);
  return hooks;
}

function idOf({ context }: ToolHookContext): string | undefined {
  return context?.agent?.toolCallId ?? context?.toolCallId;
}

function isRefusal(answer: unknown): boolean {
  return (answer as { proceed?: unknown } | undefined)?.proceed === false;
}

/** The framework hands the same object on to the tool. */
function replace(input: unknown, args: unknown): void {
  if (typeof input !== 'object' || input === null) return;
  for (const key of Object.keys(input)) Reflect.deleteProperty(input, key);
  Object.assign(input, args);
}
