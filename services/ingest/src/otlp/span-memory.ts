import { agentOf, type CountedCall, isOfAgent, type OtlpSpan, type ReadSpan } from '@agentlens/contracts/otlp';
import { type IdempotencyStore, RecentMap, StateUnavailable } from '@agentlens/state';
import type { OtlpMetrics } from './otlp-metrics.ts';

/** A root ends after its calls. The calls of runs that take longer than this are forgotten. */
const TRACE_MS = 60 * 60_000;
const MAX_TRACES = 50_000;

/** Remembers spans across requests. If the store is unavailable, nothing is lost, but calls may count twice. */
export class SpanMemory {
  readonly #traces: RecentMap<true>;

  constructor(
    private readonly store: IdempotencyStore,
    private readonly metrics: OtlpMetrics,
    private readonly now: () => number,
  ) {
    this.#traces = new RecentMap(now, { ttlMs: TRACE_MS, maxEntries: MAX_TRACES });
  }

  /**
   * Finds the model calls that another span reported before. Two instrumentations of one call share the trace and the
   * provider's response id. The first span with that id in an agent's trace counts; each other span is returned with
   * it. Ids alone are not unique, because some servers number their answers from zero.
   */
  async repeatedCalls(
    tenantId: string,
    spans: readonly ReadSpan[],
    agentId: string | undefined,
  ): Promise<ReadonlyMap<ReadSpan, CountedCall>> {
    const spansByName = new Map<string, [ReadSpan, ...ReadSpan[]]>();
    for (const span of spans) {
      if (span.responseId === undefined) continue;
      const { traceId, resource } = span.span;
      const name = JSON.stringify([agentOf(resource, agentId), traceId, span.responseId]);
      const before = spansByName.get(name);
      if (before === undefined) spansByName.set(name, [span]);
      else before.push(span);
    }
    const repeated = new Map<ReadSpan, CountedCall>();
    await Promise.all(
      Array.from(spansByName, async ([name, calls]) => {
        const counted = await this.#countedCall(tenantId, name, calls[0]);
        for (const call of calls) if (!isSame(call, counted)) repeated.set(call, counted);
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

  /** The span that counts among those with this name: the first, as far as that can be determined. */
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

/** The store accepts no spaces, but the name of a scope may contain them. */
function oneWord({ traceId, spanId, scope }: OtlpSpan): string {
  return `${traceId}/${spanId}/${Buffer.from(scope.name.slice(0, 256)).toString('base64url')}`;
}

/** Entries of earlier releases have no scope. */
function fromWord(word: string): CountedCall {
  const [traceId = '', spanId = '', scope] = word.split('/', 3);
  return { traceId, spanId, scope: scope === undefined ? undefined : Buffer.from(scope, 'base64url').toString() };
}
