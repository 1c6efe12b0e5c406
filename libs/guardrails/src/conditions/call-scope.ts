import type { DecisionRequest } from '@agentlens/contracts';
import { z } from 'zod';
import type { CallTest } from '../catalog/condition-module.ts';
import type { CallScope } from '../decisions/facts.ts';
import { WIDER_SCOPES } from '../ports/call-history.ts';

/** Whose calls a condition looks at; by default those of the run. Absent in rules that are older than the field. */
export const CallScopeField = z
  .enum(['run', ...WIDER_SCOPES])
  .optional()
  .meta({
    title: 'Looks at the calls of',
    description: 'The run (default), its whole tree, its session, the agent or the tenant.',
  });

/**
 * What a condition needs that looks at the calls of a scope. Only a run and an agent have calls of one agent.
 * @param reads returns true if the answer about this call depends on others; by default it always does
 */
export function callsOf(
  scope: CallScope,
  countsCall: NonNullable<CallTest['countsCall']>,
  reads: (request: DecisionRequest) => boolean = () => true,
): Pick<CallTest, 'countsCall' | 'countsEveryAgent' | 'needs'> {
  const history = scope === 'run' ? { history: true } : { histories: [scope] };
  const needs = (request: DecisionRequest) => (reads(request) ? history : {});
  return { countsCall, needs, countsEveryAgent: scope !== 'run' && scope !== 'agent' };
}
