import type { CalledRun, CallHistory, CompletedCall, EnteredCall, PastCall } from '@agentlens/guardrails';
import { LIFETIMES, MAX_CALLS } from '../lifetimes.ts';
import type { ExpiringMap } from './evicting-maps.ts';
import type { MemorySnapshots } from './memory-snapshots.ts';

/** Call histories of one process. The calls of a run are in order of entry. */
export class MemoryCallHistory implements CallHistory {
  readonly #runs: ExpiringMap<Map<string, PastCall>>;

  constructor(snapshots: MemorySnapshots) {
    this.#runs = snapshots.map('calls');
  }

  async enter(run: CalledRun, call: EnteredCall): Promise<readonly PastCall[]> {
    let calls = this.#callsOf(run);
    if (calls.get(call.callKey)?.status === 'completed') calls = withoutKey(calls, call.callKey);
    if (!calls.has(call.callKey)) this.#put(run, calls, call.callKey, { ...call, status: 'asked' });
    const earlier: PastCall[] = [];
    for (const [key, past] of calls) {
      if (key === call.callKey) break;
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
    const key = calls.has(call.callKey) ? call.callKey : (openKeyOf(calls, call.callId) ?? call.callKey);
    const before = calls.get(key);
    if (before?.status !== 'completed') {
      const { resultHash, durationMs } = call;
      const result = durationMs === undefined ? { resultHash } : { resultHash, durationMs };
      this.#put(run, calls, key, { ...(before ?? entered(call)), ...result, status: 'completed' });
    }
    return [...calls].flatMap(([other, past]) => (other === key ? [] : [past]));
  }

  async read(run: CalledRun): Promise<readonly PastCall[]> {
    return [...this.#callsOf(run).values()];
  }

  #callsOf({ tenantId, runId }: CalledRun): Map<string, PastCall> {
    return this.#runs.get(JSON.stringify([tenantId, runId])) ?? new Map();
  }

  #put({ tenantId, runId }: CalledRun, calls: Map<string, PastCall>, key: string, call: PastCall): void {
    calls.set(key, call);
    const [oldest] = calls.keys();
    if (calls.size > MAX_CALLS && oldest !== undefined) calls.delete(oldest);
    this.#runs.set(JSON.stringify([tenantId, runId]), calls, LIFETIMES.run);
  }
}

function entered({ callKey, callId, toolName, toolTags, argsHash, atMs }: EnteredCall): EnteredCall {
  return { callKey, ...(callId === undefined ? {} : { callId }), toolName, toolTags, argsHash, atMs };
}

/** A copy in the same order in which the call of `key` has a name that is never looked up. */
function withoutKey(calls: ReadonlyMap<string, PastCall>, key: string): Map<string, PastCall> {
  let place = calls.size;
  while (calls.has(`${key}\n${place}`)) place += 1;
  return new Map([...calls].map(([each, call]) => [each === key ? `${key}\n${place}` : each, call]));
}

function openKeyOf(calls: ReadonlyMap<string, PastCall>, callId: string | undefined): string | undefined {
  if (callId === undefined) return undefined;
  for (const [key, call] of calls) if (call.callId === callId && call.status !== 'completed') return key;
  return undefined;
}
