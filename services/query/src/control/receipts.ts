import type { ControlOrder } from '@agentlens/contracts';

/** Who took an order, and how fast. */
export interface Receipts {
  readonly acknowledged: number;
  readonly fastestMs: number | null;
  readonly slowestMs: number | null;
}

/** Clocks of instances differ: what seems to be taken before it was given was taken at once. */
export function receiptsOf(issuedAt: string, acknowledgedAt: readonly string[]): Receipts {
  const latencies = acknowledgedAt.map((at) => Math.max(0, Date.parse(at) - Date.parse(issuedAt)));
  if (latencies.length === 0) return { acknowledged: 0, fastestMs: null, slowestMs: null };
  return { acknowledged: latencies.length, fastestMs: Math.min(...latencies), slowestMs: Math.max(...latencies) };
}

/** Whether an acknowledgement of this agent is one of the order; a run whose agent is not known may be any agent's. */
export function isAddressedTo({ scope, scopeId, agentId }: ControlOrder, agent: string): boolean {
  if (scope === 'tenant') return true;
  if (scope === 'agent') return scopeId === agent;
  return agentId === undefined || agentId === agent;
}
