import type { JsonSchema } from '@agentlens/sdk';
import type { AgentContext } from '../core/agent-context.ts';
import { type Json, toJson } from '../core/json.ts';
import { ToolResult } from '../core/message.ts';
import { type Tool, type ToolCategory, tool } from '../tools/tool.ts';

export interface ConnectorResult {
  readonly ok: boolean;
  readonly output: unknown;
  readonly meta?: unknown;
}

/** A client of an external system, accepted wherever a tool is. */
export interface Connector {
  readonly id: string;
  readonly description: string;
  /** True: allowed unless a rule says otherwise. */
  readonly safeByDefault: boolean;
  readonly category?: ToolCategory;
  readonly schema?: JsonSchema;
  readonly idempotent?: boolean;
  readonly timeoutMs?: number;
  run(input: Json, context: AgentContext): Promise<ConnectorResult>;
  /** The shell command that an input would run. */
  commandOf?(input: Json): string | undefined;
}

export function isConnector(value: Tool | Connector): value is Connector {
  return 'run' in value && 'id' in value;
}

export function connectorTool(connector: Connector): Tool {
  const { id, description, safeByDefault, category = 'network', schema = { type: 'object' } } = connector;
  const { idempotent, timeoutMs } = connector;
  return tool<Json>({
    ...{ name: id, description, category, input: schema, requiresPermission: !safeByDefault, idempotent, timeoutMs },
    ...(connector.commandOf === undefined ? {} : { commandOf: (input: Json) => connector.commandOf?.(input) }),
    async execute(input, context): Promise<ToolResult> {
      const { ok, output, meta } = await connector.run(input, context);
      const known = meta === undefined ? undefined : toJson(meta);
      if (ok) return ToolResult.ok(toJson(output), known);
      return {
        output: toJson(output),
        isError: true,
        code: 'tool_failed',
        ...(known === undefined ? {} : { meta: known }),
      };
    },
  });
}
