import { isPlainObject } from '../core/json.ts';
import { bashTool } from '../tools/builtin/bash.ts';
import { runTool } from '../tools/run-tool.ts';
import type { Connector } from './connector.ts';

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
