import { orderedOutcome, stateOfRun } from '@agentlens/platform';
import type { BreakerVerdict } from '../breakers/breaker.service.ts';
import {
  type Answer,
  type Call,
  type DecisionPorts,
  type Fetched,
  logsFailure,
  type Question,
  type Unlocked,
} from './call.ts';

const ALLOWS: BreakerVerdict = { allowed: true };

/** Blocks the call if an order or a limit of the run tree stops its run. */
export function checkOrders({ control }: Pick<DecisionPorts, 'control'>, { request }: Call): Answer | undefined {
  const state = stateOfRun(control, request);
  return state.kind === 'none' ? undefined : { outcome: orderedOutcome(state) };
}

/** Asks the breakers of the run and its agent. */
export async function askBreaker(
  ports: Pick<DecisionPorts, 'breakers' | 'circuit' | 'logger'>,
  { request, call }: Question,
): Promise<Fetched['breaker']> {
  const { breakers, circuit } = ports;
  if (breakers.remembers(request)) return ALLOWS;
  const { decisionId, once } = call.identity;
  const consulted = () => breakers.consult(request, decisionId, call.nowMs, once);
  return circuit.ask(call.deadline, consulted, logsFailure(ports, request, 'checking breakers failed'));
}

/** Blocks the call if a breaker is open. A breaker that could not be asked allows it. */
export function judgeBreaker(question: Question, { breaker, spentBudget, facts }: Fetched): Answer | Unlocked {
  return refuseByBreaker(question, breaker) ?? { breaker: 'allows', spentBudget, facts };
}

/** The refusal of an open breaker, if it is one. */
export function refuseByBreaker({ call }: Question, breaker: Fetched['breaker']): Answer | undefined {
  if (typeof breaker !== 'string') return breaker.allowed ? undefined : blockByBreaker(breaker);
  call.bypasses.push({ ruleId: 'circuit_breaker', why: breaker, did: 'allow' });
  return undefined;
}

function blockByBreaker({ ref, reason }: Extract<BreakerVerdict, { allowed: false }>): Answer {
  return {
    outcome: {
      verdict: 'BLOCK',
      control: 'TERMINATE',
      effect: 'terminate',
      cause: { kind: 'LOCKDOWN', lockdownId: `breaker:${ref.scope}:${ref.scopeId}` },
      message: `The circuit breaker of this ${ref.scope === 'tree' ? 'run tree' : ref.scope} is open: ${reason}`,
      reason: 'breaker',
    },
  };
}
