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
import { answered, type RedisConnection } from './connection.ts';
import { callOrderKey, callsKey, labelsKey } from './keys.ts';

const STATUSES: Readonly<Record<string, PastCall['status']>> = { '?': 'asked', '+': 'allowed', '=': 'completed' };

/** Call histories shared by all evaluators. */
export class RedisCallHistory implements CallHistory {
  readonly #redis: RedisConnection;

  constructor(redis: RedisConnection) {
    this.#redis = redis;
  }

  async enter(run: CalledRun, call: EnteredCall): Promise<readonly PastCall[]> {
    const entered = JSON.stringify(withoutResult(call));
    const reply = this.#redis.enterCall(2, ...keysOf(run), call.callKey, entered, MAX_CALLS, LIFETIMES.run);
    return callsOf(await answered('enter', reply));
  }

  async settle(run: CalledRun, callKey: string, outcome: 'allowed' | 'refused'): Promise<void> {
    await answered('settle', this.#redis.settleCall(2, ...keysOf(run), callKey, outcome));
  }

  async complete(run: CalledRun, call: CompletedCall): Promise<readonly PastCall[]> {
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

  async read(run: CalledRun): Promise<readonly PastCall[]> {
    return callsOf(await answered('calls', this.#redis.readCalls(2, ...keysOf(run))));
  }
}

function keysOf({ tenantId, runId }: CalledRun): [string, string] {
  return [callsKey(tenantId, runId), callOrderKey(tenantId, runId)];
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

/** Labels of run trees, shared by all evaluators: a hash for each run that labels were set on. */
export class RedisLabelStore implements LabelStore {
  readonly #redis: RedisConnection;

  constructor(redis: RedisConnection) {
    this.#redis = redis;
  }

  async set(line: LabelledLine, labels: readonly string[], cause: LabelCause): Promise<readonly string[]> {
    const key = labelsKey(line.tenantId, rootOf(line));
    const reply = this.#redis.setLabels(1, key, LIFETIMES.run, MAX_LABELS, JSON.stringify(cause), ...labels);
    return (await answered('set-labels', reply)) as string[];
  }

  async read(line: LabelledLine): Promise<ReadonlyMap<string, LabelCause>> {
    const keys = lineKeys(line);
    const reply = (await answered('labels', this.#redis.readLabels(keys.length, ...keys, LIFETIMES.run))) as string[];
    const found = new Map<string, LabelCause>();
    for (let at = 0; at + 1 < reply.length; at += 2) {
      const label = reply[at] ?? '';
      found.set(label, firstCause(found.get(label), JSON.parse(reply[at + 1] ?? '') as LabelCause));
    }
    return found;
  }

  async clear(line: LabelledLine, labels: readonly string[]): Promise<void> {
    const keys = lineKeys(line);
    await answered('clear-labels', this.#redis.clearLabels(keys.length, ...keys, ...labels));
  }
}

function lineKeys({ tenantId, runIds }: LabelledLine): string[] {
  return runIds.map((runId) => labelsKey(tenantId, runId));
}
