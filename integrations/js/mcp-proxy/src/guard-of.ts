import type { AgentLensClient } from '@agentlens/sdk';
import { Guard, type GuardOptions } from '@agentlens/sdk/adapter';

export interface ProxyOptions extends Omit<GuardOptions, 'run'> {
  /** The server's name in rules: its tools are `<server>.<tool>`. */
  readonly server: string;
  /** Between two messages to a client that waits for a human, ms. Default 5000. */
  readonly progressEveryMs?: number;
  /** Names of variables that the server gets, besides PATH, HOME and the like. It never inherits the proxy's others. */
  readonly environment?: readonly string[];
}

/** Waits for a human unless the options say otherwise: a client has no other way to ask again. */
export function guardOf(lens: AgentLensClient, options: ProxyOptions): Guard {
  const adapter = { name: '@agentlens/mcp-proxy', framework: 'mcp' };
  const { tags, subjects, waitForApproval = true, observe } = options;
  return new Guard(lens, adapter, { tags, subjects, waitForApproval, observe }, { seesModels: false });
}
