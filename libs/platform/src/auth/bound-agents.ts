import { ProblemException } from '../http/problem-exception.ts';
import type { Caller } from './caller.ts';

/** The code of a refusal that is about the agents of a key. */
export const OTHER_AGENT = 'other_agent';

/** Whether this key may speak for the agent: for every agent, unless the key is bound to some. */
function maySpeakFor({ agents }: Pick<Caller, 'agents'>, agentId: string): boolean {
  return agents === undefined || agents.includes(agentId);
}

/** What to tell whoever used a bound key for another agent. */
export function boundTo(agents: readonly string[]): string {
  return `must be an agent of this API key, which is bound to ${agents.map((agent) => JSON.stringify(agent)).join(', ')}`;
}

/**
 * @param path where the request names the agent.
 * @throws ProblemException 403, with the agents that the key is bound to.
 */
export function requireAgent(caller: Pick<Caller, 'agents'>, agentId: string, path = 'agentId'): void {
  const { agents = [] } = caller;
  if (maySpeakFor(caller, agentId)) return;
  throw new ProblemException(403, 'This API key is bound to other agents', {
    code: OTHER_AGENT,
    details: [{ path, message: boundTo(agents) }],
    hint: 'Name one of the agents of this key, or ask an admin for a key of the other agent.',
    extra: { agents: [...agents] },
  });
}
