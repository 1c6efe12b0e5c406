import { AgentLensClient } from './client.ts';
import type { AgentLensOptions } from './options.ts';

export const AgentLens = {
  /**
   * Connects this process to the platform as one agent. Throws for options that make no sense (TypeError) and for a key
   * that the platform refuses (ApiKeyRefused); a platform that is away is waited for behind the scenes. Resolves when
   * the agent is registered, or at the deadline.
   */
  async init(options: AgentLensOptions): Promise<AgentLensClient> {
    const client = new AgentLensClient(options);
    try {
      await client.ready();
    } catch (error) {
      await client.shutdown();
      throw error;
    }
    return client;
  },
};
