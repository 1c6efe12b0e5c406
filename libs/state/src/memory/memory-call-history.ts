import type { CalledRun, CallHistory, CompletedCall, EnteredCall, PastCall } from '@agentlens/guardrails';
import { LIFETIMES, MOST_CALLS } from '../lifetimes.ts';
import type { ExpiringMap } from './expiring-map.ts';
import type { MemoryShelf } from './memory-shelf.ts';

/** Call histories of one process. A run's calls are in the order they were entered. */
export class MemoryCallHistory implements CallHistory {
  readonly #runs: ExpiringMap<Map<string, PastCall>>;

  constructor(shelf: MemoryShelf) {
    this.#runs = shelf.map('calls');
  }

  async enter(run: CalledRun, call: EnteredCall): Promise<readonly PastCall[]> {
    const calls = this.#callsOf(run);
    if (!calls.has(call.callKey)) this.#put(run, calls, { ...call, status: 'asked' });
    const earlier: PastCall[] = [];
    for (const past of calls.values()) {
      if (past.callKey === call.callKey) break;
      earlier.push(past);
    }
    return earlier;
  }

  async settle(run: CalledRun, callKey: string, outcome: 'allowed' | 'refused'): Promise<void> {
    const calls = this.#callsOf(run);
    const call = calls.get(callKey);
    if (call?.status !== 'asked') return;
    if (outcome === 'refused') calls.delete(callKey);
    else calls.set(callKey, { ...call, status: 'allowed' });
  }

  async complete(run: CalledRun, call: CompletedCall): Promise<readonly PastCall[]> {
    const calls = this.#callsOf(run);
    const before = calls.get(call.callKey);
    if (before?.status !== 'completed') {
      const { resultHash, durationMs } = call;
      const result = durationMs === undefined ? { resultHash } : { resultHash, durationMs };
      this.#put(run, calls, { ...(before ?? entered(call)), ...result, status: 'completed' });
    }
    return [...calls.values()].filter(({ callKey }) => callKey !== call.callKey);
  }

  async read(run: CalledRun): Promise<readonly PastCall[]> {
    return [...this.#callsOf(run).values()];
  }

  #callsOf({ tenantId, agentId, runId }: CalledRun): Map<string, PastCall> {
    return this.#runs.get(JSON.stringify([tenantId, agentId, runId])) ?? new Map();
  }

  #put({ tenantId, agentId, runId }: CalledRun, calls: Map<string, PastCall>, call: PastCall): void {
    calls.set(call.callKey, call);
    const [oldest] = calls.keys();
    if (calls.size > MOST_CALLS && oldest !== undefined) calls.delete(oldest);
    this.#runs.set(JSON.stringify([tenantId, agentId, runId]), calls, LIFETIMES.run);
  }
}

function entered({ callKey, toolName, toolTags, argsHash, atMs }: EnteredCall): EnteredCall {
  return { callKey, toolName, toolTags, argsHash, atMs };
}
