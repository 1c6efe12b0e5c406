import { blockedResult } from '@agentlens/sdk';
import type { RunScope } from '@agentlens/sdk/adapter';
import type { Execute, Tool, Tools } from './shapes.ts';

type Scoped = () => Promise<RunScope>;

const GUARDED = new WeakSet<object>();

/** Copies of tools, guarded. A tool without `execute` runs elsewhere and is left as it is. */
export function guardTools<T extends Tools | undefined>(tools: T, scoped: Scoped): T {
  if (tools === undefined) return tools;
  const guarded = Object.entries(tools).map(([name, tool]) => [name, guardTool(name, tool, scoped)]);
  return Object.fromEntries(guarded) as T;
}

function guardTool(name: string, tool: Tool, scoped: Scoped): Tool {
  if (tool.execute === undefined || GUARDED.has(tool)) return tool;
  const execute = tool.execute.bind(tool);
  const descriptors = Object.getOwnPropertyDescriptors(tool);
  const value = streams(tool.execute) ? streamed(name, execute, scoped) : called(name, execute, scoped);
  const copy = Object.create(Object.getPrototypeOf(tool), {
    ...descriptors,
    execute: { value, enumerable: true, writable: true, configurable: true },
  }) as Tool;
  GUARDED.add(copy);
  return copy;
}

function called(name: string, execute: Execute, scoped: Scoped): Execute {
  return async (args, execution) => {
    const scope = await scoped();
    const { toolCallId: id, abortSignal: signal } = execution;
    return scope.tools.call(
      { id, name, args },
      async (input) => lastOf(await execute(input, execution)),
      blockedResult,
      {
        signal,
      },
    );
  };
}

/** The framework looks at what `execute` answers at once: a stream has to be one from the beginning. */
function streamed(name: string, execute: Execute, scoped: Scoped): Execute {
  return async function* (args, execution) {
    const scope = await scoped();
    const { toolCallId: id, abortSignal: signal } = execution;
    const run = (input: unknown) => execute(input, execution) as AsyncIterable<unknown>;
    yield* scope.tools.stream({ id, name, args }, run, blockedResult, { signal });
  };
}

function streams(execute: Execute): boolean {
  return execute.constructor.name === 'AsyncGeneratorFunction';
}

/** Of an iterable that an ordinary function answers, the last item is the result. */
async function lastOf(result: unknown): Promise<unknown> {
  if (typeof result !== 'object' || result === null || !(Symbol.asyncIterator in result)) return result;
  let last: unknown;
  for await (const item of result as AsyncIterable<unknown>) last = item;
  return last;
}
