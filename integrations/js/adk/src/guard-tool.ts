import { blockedResult } from '@agentlens/sdk';
import type { Guard } from '@agentlens/sdk/adapter';
import type { Tool } from './shapes.ts';

const GUARDED = new WeakMap<object, Tool>();

/** A tool whose `runAsync` is decided. It inherits the rest, and so registers itself where the original would. */
export function guardTool(guard: Guard, tool: Tool): Tool {
  const known = GUARDED.get(tool);
  if (known !== undefined) return known;
  const copy = Object.create(tool, {
    runAsync: {
      value: async (request: Parameters<Tool['runAsync']>[0]) => {
        const scope = guard.here();
        const { args, toolContext } = request;
        const { functionCallId: id, abortSignal: signal, invocationContext } = toolContext;
        // An agent that is a tool runs in a runner of its own, which is the framework's.
        const run = (decided: unknown) => tool.runAsync({ ...request, args: decided });
        const execute =
          tool.agent === undefined ? run : (decided: unknown) => guard.within(decided, () => run(decided));
        return scope.tools.call(
          { id, name: tool.name, args },
          execute,
          (decision) => {
            if (decision.control === 'TERMINATE' && invocationContext !== undefined)
              invocationContext.endInvocation = true;
            return blockedResult(decision);
          },
          { signal },
        );
      },
      configurable: true,
      writable: true,
    },
  }) as Tool;
  GUARDED.set(tool, copy);
  GUARDED.set(copy, copy);
  return copy;
}
