import { z } from 'zod';

/** A tool an agent says it has. `tags` are what rules select tools by. */
export const AgentTool = z.object({
  name: z.string(),
  description: z.string().optional(),
  tags: z.array(z.string()),
  key: z.string().optional(),
  kind: z.string().optional(),
  version: z.union([z.string(), z.number()]).optional(),
});
export type AgentTool = z.infer<typeof AgentTool>;

/**
 * Payload of an `agent.registered` event. What is absent stays as it was; what is present replaces it, except that
 * `tools` are merged by name: a tool named again is replaced, one not named stays (clients register tools in parts).
 */
export const AgentRegistration = z.object({
  slug: z.string().optional(),
  name: z.string().optional(),
  description: z.string().optional(),
  tags: z.array(z.string()).optional(),
  tools: z.array(AgentTool).optional(),
});
export type AgentRegistration = z.infer<typeof AgentRegistration>;

/** `agent.registered` belongs to no run, but every event names one: this one, which is no run. */
export const REGISTRY_RUN_ID = 'agent-registry';
