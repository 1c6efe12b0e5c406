import { agentOf, type CountedCall, isOfAgent, type OtlpSpan, type ReadSpan } from '@agentlens/contracts/otlp';
import { type IdempotencyStore, RecentMap, StateUnavailable } from '@agentlens/state';
import type { OtlpMetrics } from './otlp-metrics.ts';

/** A root ends after its calls; those of a run that is longer than this are not known any more. */
const TRACE_MS = 60 * 60_000;
const MOST_TRACES = 50_000;

/** What is known of spans that came before, beyond a request. Without it nothing is lost: calls may count twice. */
export class SpanMemory {
  readonly #traces: RecentMap<true>;

  constructor(
    private readonly store: IdempotencyStore,
    private readonly metrics: OtlpMetrics,
    private readonly now: () => number,
  ) {
    this.#traces = new RecentMap(now, { ttlMs: TRACE_MS, maxEntries: MOST_TRACES });
  }

  /**
   * The model calls among these that another span reported before: two instrumentations of one call share the trace and the
   * provider's id of its answer. The first span of an agent's trace with that id counts; each other one is returned with it.
   * Ids alone are not unique: some servers number their answers from zero.
   */
  async repeatedCalls(
    tenantId: string,
    spans: readonly ReadSpan[],
    agentId: string | undefined,
  ): Promise<ReadonlyMap<ReadSpan, CountedCall>> {
    const told = new Map<string, [ReadSpan, ...ReadSpan[]]>();
    for (const span of spans) {
      if (span.responseId === undefined) continue;
      const { traceId, resource } = span.span;
      const name = JSON.stringify([agentOf(resource, agentId), traceId, span.responseId]);
      const before = told.get(name);
      if (before === undefined) told.set(name, [span]);
      else before.push(span);
    }
    const repeated = new Map<ReadSpan, CountedCall>();
    await Promise.all(
      Array.from(told, async ([name, calls]) => {
        const counted = await this.#countedCall(tenantId, name, calls[0]);
        for (const call of calls) if (!isSame(call, counted)) repeated.set(call, counted);
      }),
    );
    return repeated;
  }

  /** The traces that are runs: those of these spans about models, and those known from requests before. */
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

  /** The span that counts of those with this name: the first, as far as that can be known. */
  async #countedCall(tenantId: string, name: string, { span }: ReadSpan): Promise<CountedCall> {
    const { traceId, spanId, scope } = span;
    try {
      const request = { bodyHash: oneWord(span), receivedAtMs: this.now() };
      return fromWord((await this.store.remember(tenantId, `llm:${name}`, request)).bodyHash);
    } catch (error) {
      if (!(error instanceof StateUnavailable)) throw error;
      this.metrics.undeduplicated(1);
      return { traceId, spanId, scope: scope.name };
    }
  }
}

function isSame({ span }: ReadSpan, { traceId, spanId }: CountedCall): boolean {
  return span.traceId === traceId && span.spanId === spanId;
}

/** The store keeps a word; the name of a scope may hold spaces. */
function oneWord({ traceId, spanId, scope }: OtlpSpan): string {
  return `${traceId}/${spanId}/${Buffer.from(scope.name.slice(0, 256)).toString('base64url')}`;
}

/** What earlier releases kept has no scope. */
function fromWord(word: string): CountedCall {
  const [traceId = '', spanId = '', scope] = word.split('/', 3);
  return { traceId, spanId, scope: scope === undefined ? undefined : Buffer.from(scope, 'base64url').toString() };
}
