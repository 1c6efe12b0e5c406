import { blockedResult, type Decision } from '@agentlens/sdk';
import type { Guard } from '@agentlens/sdk/adapter';
import type { Hooks, ToolHookArgs } from './shapes.ts';

/** Thrown in place of a refused call: the framework asks for the result that stands for an error. */
class CallRefused extends Error {
  override readonly name = 'CallRefused';
  readonly decision: Decision;

  constructor(decision: Decision) {
    super(decision.message);
    this.decision = decision;
  }
}

/** The user's hooks inside of ours: his see a call only if it may happen, and cannot displace the decision. */
export function guardHooks(guard: Guard, own: Hooks = {}): Hooks {
  return {
    ...own,
    async onToolStart(given) {
      const { tool, args } = given;
      const scope = guard.here();
      const call = { id: idOf(given), name: tool.name, args, tags: tool.tags };
      const decision = await scope.tools.before(call, { signal: given.options?.toolContext?.abortSignal });
      if (decision.verdict === 'BLOCK') throw new CallRefused(decision);
      if (decision.args !== args) replace(args, decision.args);
      await own.onToolStart?.(given);
    },
    async onToolEnd(given) {
      // Also told after an error, which was reported then.
      if (given.error !== undefined) return own.onToolEnd?.(given);
      const answer = await own.onToolEnd?.(given);
      const result = hasOutput(answer) ? answer.output : given.output;
      const scope = guard.here();
      const decision = await scope.tools.after(idOf(given) ?? '', { result });
      return decision?.verdict === 'BLOCK' ? { output: blockedResult(decision) } : answer;
    },
    async onToolError(given) {
      const { originalError: error } = given;
      if (error instanceof CallRefused) return { output: blockedResult(error.decision) };
      const scope = guard.here();
      await scope.tools.after(idOf(given) ?? '', { error: error ?? given.error });
      return own.onToolError?.(given);
    },
  };
}

function idOf({ options }: ToolHookArgs): string | undefined {
  return options?.toolContext?.callId;
}

function hasOutput(answer: unknown): answer is { readonly output: unknown } {
  return typeof answer === 'object' && answer !== null && 'output' in answer;
}

/** The framework hands the same object on to the tool. */
function replace(args: unknown, decided: unknown): void {
  if (typeof args !== 'object' || args === null) return;
  for (const key of Object.keys(args)) Reflect.deleteProperty(args, key);
  Object.assign(args, decided);
}
