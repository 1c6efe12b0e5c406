import { isPlainObject, type Json } from '../core/json.ts';
import { bashTool } from '../tools/builtin/bash.ts';
import { runTool } from '../tools/run-tool.ts';
import type { Connector } from './connector.ts';

interface KvInput {
  readonly op: 'get' | 'set' | 'delete';
  readonly key: string;
  readonly value?: Json;
}

const MAX_KEYS = 10_000;

/** An in-process map; for tests and for scratch space shared by tools. */
export function kvConnector(options: { readonly id?: string; readonly map?: Map<string, Json> } = {}): Connector {
  const { id = 'kv', map = new Map<string, Json>() } = options;
  return {
    id,
    description: 'Stores values by key: {op: "get" | "set" | "delete", key, value?}.',
    safeByDefault: true,
    category: 'memory',
    schema: {
      type: 'object',
      properties: {
        op: { enum: ['get', 'set', 'delete'] },
        key: { type: 'string', minLength: 1, maxLength: 500 },
        value: {},
      },
      required: ['op', 'key'],
      additionalProperties: false,
    },
    async run(input) {
      const { op, key, value = null } = input as unknown as KvInput;
      if (op === 'get') return { ok: true, output: map.get(key) ?? null };
      if (op === 'delete') return { ok: true, output: map.delete(key) };
      if (!map.has(key) && map.size >= MAX_KEYS) return { ok: false, output: 'there are too many keys' };
      map.set(key, value);
      return { ok: true, output: 'kept' };
    },
  };
}

/** The shell as a connector; closed unless the host opens it. */
export function shellConnector(options: { readonly id?: string } = {}): Connector {
  const bash = bashTool();
  const { inputSchema } = bash.definition();
  return {
    id: options.id ?? 'shell',
    description: bash.description,
    safeByDefault: false,
    category: 'execute',
    ...(typeof inputSchema === 'object' ? { schema: inputSchema } : {}),
    ...(bash.timeoutMs === undefined ? {} : { timeoutMs: bash.timeoutMs }),
    commandOf: (input) => (isPlainObject(input) && typeof input.command === 'string' ? input.command : undefined),
    async run(input, context) {
      const { isError, output, meta } = await runTool(bash, input, context);
      return { ok: !isError, output, ...(meta === undefined ? {} : { meta }) };
    },
  };
}
