import { type Guard, refusalText } from '@agentlens/sdk/adapter';
import { parsed } from './messages.ts';
import type { CallDetails, MakeTool, Tool } from './shapes.ts';

/** What a tool threw, by the details of its call: `invoke` never throws, and its text says nothing of the error. */
const THROWN = new WeakMap<object, unknown>();
const DEFAULT_ERROR = 'An error occurred while running the tool.';

/** `tool()` whose tools remember what they threw. */
export function guardMakeTool(original: MakeTool): MakeTool {
  return (settings) => {
    const { execute, name = execute.name } = settings;
    return original({
      ...settings,
      name,
      execute: async (input, context, details) => {
        try {
          return await execute(input, context, details);
        } catch (error) {
          noteThrown(details, error);
          throw error;
        }
      },
    });
  };
}

export function noteThrown(details: CallDetails | undefined, error: unknown): void {
  if (details !== undefined) THROWN.set(details, error ?? new Error('the tool threw nothing'));
}

/** Function tools, guarded; the same copy of each every time. */
export class ToolGuard {
  readonly #guard: Guard;
  readonly #copies = new WeakMap<object, Tool>();

  constructor(guard: Guard) {
    this.#guard = guard;
  }

  guarded(tool: Tool): Tool {
    const { invoke, name } = tool;
    if (tool.type !== 'function' || invoke === undefined) return tool;
    const known = this.#copies.get(tool);
    if (known !== undefined) return known;
    const value = this.#invoke(name, invoke.bind(tool));
    const descriptors = Object.getOwnPropertyDescriptors(tool);
    const copy = Object.create(Object.getPrototypeOf(tool), {
      ...descriptors,
      invoke: { value, enumerable: true, writable: true, configurable: true },
    }) as Tool;
    this.#copies.set(tool, copy);
    this.#copies.set(copy, copy);
    return copy;
  }

  #invoke(name: string, invoke: NonNullable<Tool['invoke']>): NonNullable<Tool['invoke']> {
    return async (context, input, details) => {
      const scope = this.#guard.here();
      const given = parsed(input);
      const { signal } = details ?? {};
      return scope.tools.call(
        { id: details?.toolCall?.callId, name, args: given },
        (args) => invoke(context, args === given ? input : JSON.stringify(args), details),
        refusalText,
        { signal, failed: (result) => thrownBy(details, result) },
      );
    };
  }
}

function thrownBy(details: CallDetails | undefined, result: unknown): unknown {
  if (details !== undefined && THROWN.has(details)) return THROWN.get(details);
  // Of a tool that was made with the framework's own function.
  return typeof result === 'string' && result.startsWith(DEFAULT_ERROR) ? new Error(result) : undefined;
}
