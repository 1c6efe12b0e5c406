import type {
  CalledRun,
  CallHistory,
  CompletedCall,
  EnteredCall,
  LabelCause,
  LabelledLine,
  LabelStore,
  PastCall,
} from '@agentlens/guardrails';
import { firstCause, rootOf } from '@agentlens/guardrails/ports';
import { LIFETIMES, MAX_CALLS, MAX_LABELS } from '../lifetimes.ts';
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

/** Labels of run trees in one process, by the run they were set on. */
export class MemoryLabelStore implements LabelStore {
  readonly #runs: ExpiringMap<Map<string, LabelCause>>;

  constructor(snapshots: MemorySnapshots) {
    this.#runs = snapshots.map('labels');
  }

  async set(line: LabelledLine, labels: readonly string[], cause: LabelCause): Promise<readonly string[]> {
    const key = keyOf(line.tenantId, rootOf(line));
    const standing = this.#runs.get(key) ?? new Map<string, LabelCause>();
    const rejected: string[] = [];
    for (const label of labels) {
      if (standing.has(label)) continue;
      if (standing.size >= MAX_LABELS) rejected.push(label);
      else standing.set(label, { ...cause });
    }
    this.#runs.set(key, standing, LIFETIMES.run);
    return rejected;
  }

  async read({ tenantId, runIds }: LabelledLine): Promise<ReadonlyMap<string, LabelCause>> {
    const found = new Map<string, LabelCause>();
    for (const runId of runIds) {
      const key = keyOf(tenantId, runId);
      const standing = this.#runs.get(key);
      if (standing === undefined) continue;
      this.#runs.set(key, standing, LIFETIMES.run);
      for (const [label, cause] of standing) found.set(label, firstCause(found.get(label), cause));
    }
    return found;
  }

  async clear({ tenantId, runIds }: LabelledLine, labels: readonly string[]): Promise<void> {
    for (const runId of runIds) {
      const standing = this.#runs.get(keyOf(tenantId, runId));
      for (const label of labels) standing?.delete(label);
    }
  }
}

function keyOf(tenantId: string, runId: string): string {
  return JSON.stringify([tenantId, runId]);
}
