import type { ControlOrder } from '@agentlens/contracts';

/** Which instances acknowledged an order, and how fast. */
export interface Receipts {
  readonly acknowledged: number;
  readonly fastestMs: number | null;
  readonly slowestMs: number | null;
}

/** Clocks of instances differ. An acknowledgement dated before the order counts as immediate. */
export function receiptsOf(issuedAt: string, acknowledgedAt: readonly string[]): Receipts {
  const latencies = acknowledgedAt.map((at) => Math.max(0, Date.parse(at) - Date.parse(issuedAt)));
  if (latencies.length === 0) return { acknowledged: 0, fastestMs: null, slowestMs: null };
  return { acknowledged: latencies.length, fastestMs: Math.min(...latencies), slowestMs: Math.max(...latencies) };
}

/**
 * Whether an acknowledgement of this agent belongs to the order. If the agent of a run is unknown, any agent matches.
 */
export function isAddressedTo({ scope, scopeId, agentId }: ControlOrder, agent: string): boolean {
  if (scope === 'tenant') return true;
  if (scope === 'agent') return scopeId === agent;
  return agentId === undefined || agentId === agent;
}
