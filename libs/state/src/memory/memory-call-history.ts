import type {
  CalledRun,
  CalledScope,
  CallHistory,
  CompletedCall,
  EnteredCall,
  EvidenceNote,
  LabelCause,
  LabelledLine,
  LabelStore,
  PastCall,
  PrintPlace,
  SharedPrints,
  StoredLabel,
} from '@agentlens/guardrails';
import { firstCause, MAX_PRINTS, rootOf } from '@agentlens/guardrails/ports';
import { LIFETIMES, MAX_CALLS, MAX_LABELS } from '../lifetimes.ts';
import type { ExpiringMap } from './evicting-maps.ts';
import type { MemorySnapshots } from './memory-snapshots.ts';

/** Call histories of one process. The calls of a run are in order of entry. */
export class MemoryCallHistory implements CallHistory {
  readonly #runs: ExpiringMap<Map<string, PastCall>>;

  constructor(snapshots: MemorySnapshots) {
    this.#runs = snapshots.map('calls');
  }

  async enter(run: CalledRun | CalledScope, call: EnteredCall): Promise<readonly PastCall[]> {
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

  async settle(run: CalledRun | CalledScope, callKey: string, outcome: 'allowed' | 'refused'): Promise<void> {
    const calls = this.#callsOf(run);
    const call = calls.get(callKey);
    if (call?.status !== 'asked') return;
    if (outcome === 'refused') calls.delete(callKey);
    else calls.set(callKey, { ...call, status: 'allowed' });
  }

  async complete(run: CalledRun | CalledScope, call: CompletedCall): Promise<readonly PastCall[]> {
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

  async read(run: CalledRun | CalledScope): Promise<readonly PastCall[]> {
    return [...this.#callsOf(run).values()];
  }

  #callsOf(of: CalledRun | CalledScope): Map<string, PastCall> {
    return this.#runs.get(nameOf(of)) ?? new Map();
  }

  #put(of: CalledRun | CalledScope, calls: Map<string, PastCall>, key: string, call: PastCall): void {
    calls.set(key, call);
    const [oldest] = calls.keys();
    if (calls.size > MAX_CALLS && oldest !== undefined) calls.delete(oldest);
    this.#runs.set(nameOf(of), calls, LIFETIMES.run);
  }
}

function nameOf(of: CalledRun | CalledScope): string {
  return JSON.stringify('runId' in of ? [of.tenantId, of.runId] : [of.tenantId, of.scope, of.scopeId]);
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

/** Labels of run trees in one process, by the run they were set on. Complete once they were restored. */
export class MemoryLabelStore implements LabelStore {
  readonly #runs: ExpiringMap<Map<string, LabelCause>>;
  readonly #evidence: ExpiringMap<Evidence>;
  readonly #complete = new Set<string>();

  constructor(snapshots: MemorySnapshots) {
    this.#runs = snapshots.map('labels');
    this.#evidence = snapshots.map('label-evidence');
  }

  async set(line: LabelledLine, labels: readonly string[], cause: LabelCause) {
    if (!this.#complete.has(line.tenantId)) return 'lost';
    return this.#add(keyOf(line.tenantId, rootOf(line)), labels, cause);
  }

  async read({ tenantId, runIds }: LabelledLine) {
    if (!this.#complete.has(tenantId)) return 'lost';
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
      for (const label of labels) this.#evidence.delete(keyOf(tenantId, runId, label));
    }
  }

  async note(line: LabelledLine, labels: readonly string[], note: EvidenceNote): Promise<void> {
    for (const label of labels) {
      const key = keyOf(line.tenantId, rootOf(line), label);
      const evidence = this.#evidence.get(key) ?? noEvidence(false);
      if (note.kind === 'called') evidence.open.add(note.call);
      else {
        evidence.open.delete(note.call);
        evidence.sources.set(note.call, { ...note.cause });
        evidence.full ||= !note.isComplete;
        for (const [print, place] of note.prints) {
          if (evidence.prints.has(print)) continue;
          if (evidence.prints.size < MAX_PRINTS) evidence.prints.set(print, { place, call: note.call });
          else evidence.full = true;
        }
      }
      this.#evidence.set(key, evidence, LIFETIMES.run);
    }
  }

  async compare({ tenantId, runIds }: LabelledLine, label: string, prints: readonly string[]): Promise<SharedPrints> {
    const all = runIds.flatMap((runId) => this.#evidence.get(keyOf(tenantId, runId, label)) ?? []);
    const found = all.flatMap((evidence) =>
      prints.flatMap((print) => {
        const stored = evidence.prints.get(print);
        const source = stored && evidence.sources.get(stored.call);
        return stored === undefined || source === undefined ? [] : [{ print, place: stored.place, source }];
      }),
    );
    return { isComplete: all.length > 0 && all.every(({ open, full }) => open.size === 0 && !full), found };
  }

  async restore(tenantId: string, pages: AsyncIterable<readonly StoredLabel[]>): Promise<boolean> {
    for await (const page of pages)
      for (const { runId, label, cause } of page) {
        const { added } = this.#add(keyOf(tenantId, runId), [label], cause);
        if (added.length > 0) this.#evidence.set(keyOf(tenantId, runId, label), noEvidence(true), LIFETIMES.run);
      }
    this.#complete.add(tenantId);
    return true;
  }

  #add(key: string, labels: readonly string[], cause: LabelCause) {
    const standing = this.#runs.get(key) ?? new Map<string, LabelCause>();
    const [added, rejected]: [string[], string[]] = [[], []];
    for (const label of labels) {
      if (standing.has(label)) continue;
      if (standing.size >= MAX_LABELS) rejected.push(label);
      else {
        standing.set(label, { ...cause });
        added.push(label);
      }
    }
    this.#runs.set(key, standing, LIFETIMES.run);
    return { added, rejected };
  }
}

/** Fingerprints of the results of a label's source calls. */
interface Evidence {
  readonly open: Set<string>;
  readonly sources: Map<string, LabelCause>;
  readonly prints: Map<string, { readonly place: PrintPlace; readonly call: string }>;
  full: boolean;
}

/** @param full if some evidence is missing */
function noEvidence(full: boolean): Evidence {
  return { open: new Set(), sources: new Map(), prints: new Map(), full };
}

function keyOf(tenantId: string, ...parts: readonly string[]): string {
  return JSON.stringify([tenantId, ...parts]);
}
