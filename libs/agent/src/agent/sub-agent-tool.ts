import { ResourceKey } from '../core/agent-context.ts';
import { ToolResult } from '../core/message.ts';
import type { AgentInternals } from '../runtime/agent-internals.ts';
import { type Tool, tool } from '../tools/tool.ts';
import type { Agent } from './agent.ts';

export interface DriverResources {
  readonly internals: AgentInternals;
  /** Permission requests of this session and its sub-agents can be answered. */
  readonly canAsk: boolean;
}

/** Resource key under which tools find their session. */
export const DRIVER = ResourceKey<DriverResources>('driver');

/** An agent as a tool of another one. It has its own rules plus its parent's denies. */
export function subAgentTool(
  name: string,
  agent: Agent,
  description = `Hands a task to the agent "${agent.id}".`,
): Tool {
  return tool<{ task: string }>({
    ...{ name, description, category: 'agent', requiresPermission: false, timeoutMs: 30 * 60_000 },
    input: {
      type: 'object',
      properties: { task: { type: 'string', description: 'What it should do, with everything it must know.' } },
      required: ['task'],
      additionalProperties: false,
    },
    async execute({ task }, context) {
      const driver = context.getResource(DRIVER);
      if (driver === undefined) return ToolResult.error('tool_failed', 'a sub-agent runs only inside an agent');
      const { currentToolUseId } = context;
      const child = await driver.internals.spawnChild(agent.id, agent.asFunction({ canAsk: driver.canAsk }), {
        ...{ input: task, limits: agent.runLimits },
        ...(currentToolUseId === null ? {} : { toolUseId: currentToolUseId }),
      });
      if (child.success) return ToolResult.ok(child.result ?? null, { sessionId: child.sessionId });
      const { code = 'agent_failed', message = 'the sub-agent failed' } = child.error ?? {};
      return ToolResult.error(code, `The sub-agent did not finish: ${message}`);
    },
  });
}
