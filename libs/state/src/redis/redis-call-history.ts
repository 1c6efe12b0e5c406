import { randomUUID } from 'node:crypto';
import type {
  CalledRun,
  CalledScope,
  CallHistory,
  CompletedCall,
  EnteredCall,
  EvidenceNote,
  IncompleteLabels,
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
import { answered, type RedisConnection } from './connection.ts';
import {
  callOrderKey,
  callsKey,
  evidenceKey,
  labelsKey,
  labelsMarkerKey,
  restoringLabelsKey,
  scopeCallsKey,
} from './keys.ts';

const STATUSES: Readonly<Record<string, PastCall['status']>> = { '?': 'asked', '+': 'allowed', '=': 'completed' };

/** Call histories shared by all evaluators. */
export class RedisCallHistory implements CallHistory {
  readonly #redis: RedisConnection;

  constructor(redis: RedisConnection) {
    this.#redis = redis;
  }

  async enter(run: CalledRun | CalledScope, call: EnteredCall): Promise<readonly PastCall[]> {
    const entered = JSON.stringify(withoutResult(call));
    const reply = this.#redis.enterCall(2, ...keysOf(run), call.callKey, entered, MAX_CALLS, LIFETIMES.run);
    return callsOf(await answered('enter', reply));
  }

  async settle(run: CalledRun | CalledScope, callKey: string, outcome: 'allowed' | 'refused'): Promise<void> {
    await answered('settle', this.#redis.settleCall(2, ...keysOf(run), callKey, outcome));
  }

  async complete(run: CalledRun | CalledScope, call: CompletedCall): Promise<readonly PastCall[]> {
    const { resultHash, durationMs } = call;
    const entered = JSON.stringify(withoutResult(call));
    const result = JSON.stringify({ resultHash, durationMs });
    const limits = [MAX_CALLS, LIFETIMES.run];
    const reply = this.#redis.completeCall(
      2,
      ...keysOf(run),
      call.callKey,
      entered,
      result,
      ...limits,
      openCallOf(call),
    );
    return callsOf(await answered('complete', reply));
  }

  async read(run: CalledRun | CalledScope): Promise<readonly PastCall[]> {
    return callsOf(await answered('calls', this.#redis.readCalls(2, ...keysOf(run))));
  }
}

function keysOf(of: CalledRun | CalledScope): [string, string] {
  if ('runId' in of) return [callsKey(of.tenantId, of.runId), callOrderKey(of.tenantId, of.runId)];
  const key = scopeCallsKey(of.tenantId, of.scope, of.scopeId);
  return [key, `${key}:order`];
}

function withoutResult({ callKey, callId, toolName, toolTags, argsHash, atMs }: EnteredCall): EnteredCall {
  return { callKey, ...(callId === undefined ? {} : { callId }), toolName, toolTags, argsHash, atMs };
}

/**
 * A substring of the entered JSON. It cannot occur inside another member, because quotation marks are escaped there.
 */
function openCallOf({ callId }: EnteredCall): string {
  return callId === undefined ? '' : `"callId":${JSON.stringify(callId)}`;
}

function callsOf(reply: unknown): PastCall[] {
  return (reply as string[]).map((text) => {
    const end = text.indexOf('\n');
    const call = JSON.parse(text.slice(2, end)) as EnteredCall;
    const result = text.slice(end + 1);
    const status = STATUSES[text.charAt(0)] ?? 'asked';
    return result === '' ? { ...call, status } : { ...call, status, ...(JSON.parse(result) as Partial<PastCall>) };
  });
}

/** How long a process may take to restore the labels of a tenant. */
const RESTORE_MS = 600_000;

/**
 * Labels of run trees, shared by all evaluators: a hash for each run that labels were set on, and a marker for each
 * tenant. The marker is lost with the labels, which is how a loss is noticed. A failover or a restart may lose the
 * latest labels and keep the marker, so each new connection verifies it again.
 */
export class RedisLabelStore implements LabelStore {
  readonly #redis: RedisConnection;
  /** Markers of the tenants whose labels were complete on this connection. */
  readonly #verified = new Map<string, string>();
  #connections = 0;

  constructor(redis: RedisConnection) {
    this.#redis = redis;
    redis.on('ready', () => {
      this.#verified.clear();
      this.#connections += 1;
    });
  }

  async set(line: LabelledLine, labels: readonly string[], cause: LabelCause) {
    const { tenantId } = line;
    const keys = [labelsMarkerKey(tenantId), labelsKey(tenantId, rootOf(line))];
    const marker = this.#markerOf(tenantId);
    const limits = [LIFETIMES.run, MAX_LABELS];
    const reply = this.#redis.setLabels(2, ...keys, marker, ...limits, JSON.stringify(cause), ...labels);
    const [found, added, rejected] = (await answered('set-labels', reply)) as [string, string[]?, string[]?];
    if (added === undefined || rejected === undefined) return incomplete(found);
    return this.#markerOf(tenantId) === marker ? { added, rejected } : 'unverified';
  }

  async read(line: LabelledLine) {
    const keys = [labelsMarkerKey(line.tenantId), ...lineKeys(line)];
    const marker = this.#markerOf(line.tenantId);
    const call = this.#redis.readLabels(keys.length, ...keys, marker, LIFETIMES.run);
    const [current, reply] = (await answered('labels', call)) as [string, string[]?];
    if (reply === undefined) return incomplete(current);
    // The call may have been sent again on a new connection.
    if (this.#markerOf(line.tenantId) !== marker) return 'unverified';
    const found = new Map<string, LabelCause>();
    for (let at = 0; at + 1 < reply.length; at += 2) {
      const label = reply[at] ?? '';
      found.set(label, firstCause(found.get(label), JSON.parse(reply[at + 1] ?? '') as LabelCause));
    }
    return found;
  }

  async clear(line: LabelledLine, labels: readonly string[]): Promise<void> {
    const keys = lineKeys(line);
    const evidence = labels.flatMap((label) => evidenceKeys(line, label));
    const call = this.#redis.clearLabels(keys.length + evidence.length, ...keys, ...evidence, keys.length, ...labels);
    await answered('clear-labels', call);
  }

  async note(line: LabelledLine, labels: readonly string[], note: EvidenceNote): Promise<void> {
    const { kind, call } = note;
    const noted =
      kind === 'called'
        ? []
        : [
            ...[JSON.stringify(note.cause), note.isComplete ? '1' : '0'],
            ...[...note.prints].flatMap(([print, place]) => [print, JSON.stringify(place)]),
          ];
    const keys = labels.map((label) => evidenceKey(line.tenantId, rootOf(line), label));
    const limits = [LIFETIMES.run, MAX_PRINTS];
    await Promise.all(
      keys.map((key) => answered('note-evidence', this.#redis.noteEvidence(1, key, ...limits, call, ...noted))),
    );
  }

  async compare(line: LabelledLine, label: string, prints: readonly string[]): Promise<SharedPrints> {
    const keys = evidenceKeys(line, label);
    const call = this.#redis.readEvidence(keys.length, ...keys, LIFETIMES.run, ...prints);
    const [isComplete, ...found] = (await answered('evidence', call)) as [number, ...string[]];
    const shared: SharedPrints['found'][number][] = [];
    for (let at = 0; at + 2 < found.length; at += 3) {
      const [print = '', place = '', source = ''] = found.slice(at, at + 3);
      shared.push({ print, place: JSON.parse(place) as PrintPlace, source: JSON.parse(source) as LabelCause });
    }
    return { isComplete: isComplete === 1, found: shared };
  }

  async restore(tenantId: string, pages: AsyncIterable<readonly StoredLabel[]>): Promise<boolean> {
    const id = randomUUID();
    const connection = this.#connections;
    const restoring = restoringLabelsKey(tenantId, id);
    await answered('restore-labels', this.#redis.set(restoring, '1', 'PX', RESTORE_MS));
    for await (const page of pages) await Promise.all(page.map((label) => this.#put(tenantId, label)));
    const keys = [restoring, labelsMarkerKey(tenantId)];
    const marker = (await answered('restore-labels', this.#redis.endRestore(2, ...keys, id))) as string;
    if (marker === '' || this.#connections !== connection) return false;
    this.#verified.set(tenantId, marker);
    return true;
  }

  async #put(tenantId: string, { runId, label, cause }: StoredLabel): Promise<void> {
    const limits = [LIFETIMES.run, MAX_LABELS];
    const keys = [labelsKey(tenantId, runId), evidenceKey(tenantId, runId, label)];
    await answered('restore-labels', this.#redis.restoreLabel(2, ...keys, ...limits, JSON.stringify(cause), label));
  }

  #markerOf(tenantId: string): string {
    return this.#verified.get(tenantId) ?? '';
  }
}

function incomplete(marker: string): IncompleteLabels {
  return marker === '' ? 'lost' : 'unverified';
}

function evidenceKeys({ tenantId, runIds }: LabelledLine, label: string): string[] {
  return runIds.map((runId) => evidenceKey(tenantId, runId, label));
}

function lineKeys({ tenantId, runIds }: LabelledLine): string[] {
  return runIds.map((runId) => labelsKey(tenantId, runId));
}
