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

/** What a condition needs that looks at the calls of a scope. Only a run and an agent have calls of one agent. */
export function callsOf(scope: CallScope): Pick<CallTest, 'counts' | 'countsEveryAgent' | 'needs'> {
  if (scope === 'run') return { counts: true, needs: () => ({ history: true }) };
  return { counts: true, countsEveryAgent: scope !== 'agent', needs: () => ({ histories: [scope] }) };
}
