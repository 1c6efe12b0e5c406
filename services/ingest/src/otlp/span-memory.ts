import {
  agentOf,
  type CountedCall,
  hasTokens,
  isOfAgent,
  isSameCall,
  isSameSpan,
  type ReadSpan,
  type TracedCall,
  tracedCall,
} from '@agentlens/otlp';
import { type IdempotencyStore, RecentMap, StateUnavailable } from '@agentlens/state';
import type { OtlpMetrics } from './otlp-metrics.ts';
import { RecentCalls } from './recent-calls.ts';

/** A root ends after its calls. The calls of runs that take longer than this are forgotten. */
const TRACE_MS = 60 * 60_000;
const MAX_TRACES = 50_000;

/** Remembers spans across requests. If the store is unavailable, nothing is lost, but calls may count twice. */
export class SpanMemory {
  readonly #traces: RecentMap<true>;
  readonly #recent: RecentCalls;

  constructor(
    private readonly store: IdempotencyStore,
    private readonly metrics: OtlpMetrics,
    private readonly now: () => number,
  ) {
    this.#traces = new RecentMap(now, { ttlMs: TRACE_MS, maxEntries: MAX_TRACES });
    this.#recent = new RecentCalls(now);
  }

  /**
   * Finds the model calls that another span reported before: see `isSameCall`. The first span with tokens counts; each
   * other span is returned with it.
   */
  async repeatedCalls(
    tenantId: string,
    spans: readonly ReadSpan[],
    agentId: string | undefined,
  ): Promise<ReadonlyMap<ReadSpan, CountedCall>> {
    const repeated = new Map<ReadSpan, CountedCall>();
    const byId = new Map<string, AgentCall[]>();
    for (const span of spans) {
      const call = tracedCall(span);
      if (call === undefined) continue;
      const agent = agentOf(span.span.resource, agentId);
      const counted = this.#recent.take(JSON.stringify([tenantId, agent]), call);
      if (counted !== undefined) repeated.set(span, countedCall(counted));
      else if (call.responseId !== undefined && hasTokens(call))
        append(byId, JSON.stringify([agent, call.responseId]), { span, call });
    }
    await Promise.all(
      Array.from(byId, async ([name, calls]) => {
        for (const { span, call } of calls) {
          const counted = await this.#countedById(tenantId, name, call);
          if (counted !== undefined) repeated.set(span, countedCall(counted));
        }
      }),
    );
    return repeated;
  }

  /** The traces that are runs: those with model spans here, and those known from earlier requests. */
  tracesOfAgents(tenantId: string, spans: readonly ReadSpan[]): ReadonlySet<string> {
    const traces = new Set<string>();
    for (const { span } of spans.filter(isOfAgent)) {
      traces.add(span.traceId);
      this.#traces.set(`${tenantId}/${span.traceId}`, true);
    }
    for (const { is, span } of spans) {
      if (is === 'foreign' && this.#traces.get(`${tenantId}/${span.traceId}`) === true) traces.add(span.traceId);
    }
    return traces;
  }

  /**
   * The call that counts instead of this one among those with the same id, also from other instances. Ids repeat, so an
   * id whose first call is another one is remembered by trace too.
   */
  async #countedById(tenantId: string, name: string, call: TracedCall): Promise<TracedCall | undefined> {
    try {
      for (const key of [`call:${name}`, `call:${name}${call.traceId}`]) {
        const request = { bodyHash: oneWord(call), receivedAtMs: this.now() };
        const first = fromWord((await this.store.remember(tenantId, key, request)).bodyHash, call);
        if (isSameSpan(first, call)) return undefined;
        if (isSameCall(first, call)) return first;
      }
    } catch (error) {
      if (!(error instanceof StateUnavailable)) throw error;
      this.metrics.undeduplicated(1);
    }
    return undefined;
  }
}

interface AgentCall {
  readonly span: ReadSpan;
  readonly call: TracedCall;
}

function append<K, V>(lists: Map<K, V[]>, key: K, value: V): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [value]);
  else list.push(value);
}

function countedCall({ traceId, spanId, scope }: TracedCall): CountedCall {
  return { traceId, spanId, scope };
}

/** The store accepts no spaces, but names of scopes and models may contain them. */
function oneWord(call: TracedCall): string {
  const { traceId, spanId, startMs, endMs, inputTokens, outputTokens, generation = '' } = call;
  const names = [call.scope.slice(0, 256), (call.model ?? '').slice(0, 256)].map(toBase64);
  return [traceId, spanId, ...names, startMs, endMs, inputTokens, outputTokens, generation].join('/');
}

function fromWord(word: string, { responseId }: TracedCall): TracedCall {
  const [traceId = '', spanId = '', scope = '', model = '', ...rest] = word.split('/', 9);
  const [startMs = 0, endMs = 0, inputTokens = 0, outputTokens = 0] = rest.slice(0, 4).map(Number);
  return {
    ...{ traceId, spanId, parentSpanId: undefined, scope: fromBase64(scope), responseId },
    ...{ startMs, endMs, inputTokens, outputTokens },
    model: model === '' ? undefined : fromBase64(model),
    generation: (rest[4] || undefined) as TracedCall['generation'],
  };
}

function toBase64(text: string): string {
  return Buffer.from(text).toString('base64url');
}

function fromBase64(text: string): string {
  return Buffer.from(text, 'base64url').toString();
}
