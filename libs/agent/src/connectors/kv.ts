import type { Json } from '../core/json.ts';
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
