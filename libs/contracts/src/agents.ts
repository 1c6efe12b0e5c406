import { z } from 'zod';

/** A tool that an agent registered. Rules select tools by `tags`. */
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
 * Payload of an `agent.registered` event. Present fields replace the stored ones; absent fields keep them. `tools` are
 * merged by name: a tool named again is replaced, others stay, because clients register tools in parts.
 */
export const AgentRegistration = z.object({
  slug: z.string().optional(),
  name: z.string().optional(),
  description: z.string().optional(),
  tags: z.array(z.string()).optional(),
  tools: z.array(AgentTool).optional(),
});
export type AgentRegistration = z.infer<typeof AgentRegistration>;

/** Run id of `agent.registered` events. They belong to no run, but every event has a run id. */
export const REGISTRY_RUN_ID = 'agent-registry';
