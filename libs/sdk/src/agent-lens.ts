import { AgentLensClient } from './client.ts';
import type { AgentLensOptions } from './options.ts';

export const AgentLens = {
  /**
   * Connects this process to the platform as one agent. Resolves when the agent is registered or the deadline has
   * passed; if the platform is unavailable, registration continues in the background.
   *
   * @throws TypeError for invalid options
   * @throws ApiKeyRefused if the platform rejects the key
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
