import { UNKNOWN_AGENT_ID } from '@agentlens/contracts';
import { type Caller, requireAgent } from '@agentlens/platform';
import type { KnownRuns } from './known-runs.ts';

/**
 * Refuses a call under a bound key about an agent, or in a run of an agent, that is none of the key's. A call that names no
 * agent is about the one that started the run.
 * @throws ProblemException 403
 */
export async function requireOwnRun(
  runs: Pick<KnownRuns, 'agentOf'>,
  caller: Caller,
  runId: string,
  agentId?: string | null,
): Promise<void> {
  if (caller.agents === undefined) return;
  const starter = await runs.agentOf(caller.tenantId, runId);
  requireAgent(caller, agentId || starter || UNKNOWN_AGENT_ID);
  if (starter !== undefined) requireAgent(caller, starter, 'path.runId');
}
