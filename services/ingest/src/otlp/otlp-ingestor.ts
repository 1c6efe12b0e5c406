import type { TranslatedEvent } from '@agentlens/contracts';
import {
  evaluationOf,
  type LogCollector,
  type OtlpTraces,
  type PartialSuccess,
  type ReadSpan,
  readSpan,
  type SpanClass,
  translateSpan,
} from '@agentlens/otlp';
import { type Caller, mapInSlices, type PlatformConfig } from '@agentlens/platform';
import type { FastifyReply } from 'fastify';
import type { EventIngestor } from '../event-ingestor.ts';
import type { Dialect, TenantPrices } from '../intake/dialect.ts';
import { LIMITS } from '../intake/limits.ts';
import type { OtlpMetrics } from './otlp-metrics.ts';
import type { SpanMemory } from './span-memory.ts';

/** The request without its body. */
export interface OtlpRequest {
  readonly caller: Caller;
  /** From the header `x-agentlens-agent`. */
  readonly agentId: string | undefined;
  readonly reply: FastifyReply;
}

/** Events that are already translated and fit what may be stored. */
const TRANSLATED: Dialect = {
  translate: (event) => ({ ok: true, event: event as TranslatedEvent }),
  wrongTime: 'redate',
};

/** Ingests what exporters send. Spans and records become events that take the same path as all others. */
export class OtlpIngestor {
  constructor(
    private readonly ingestor: EventIngestor,
    private readonly memory: SpanMemory,
    private readonly prices: TenantPrices,
    private readonly config: PlatformConfig['otlp'],
    private readonly metrics: OtlpMetrics,
  ) {}

  /** Resolves when every event is safe. Reports what was rejected. */
  async takeTraces(traces: OtlpTraces, request: OtlpRequest): Promise<PartialSuccess | undefined> {
    const spans = await mapInSlices(traces.spans, readSpan);
    this.metrics.spans(countsOf(spans));
    const events = await this.#eventsOf(spans, request);
    const refused = await this.#take(events, traces.rejected, request);
    return this.#partial('traces', traces.rejected + refused.count, traces.reason ?? refused.reason);
  }

  /** Evaluations become events; the other records repeat what spans contain. */
  async takeLogs(logs: LogCollector, request: OtlpRequest): Promise<PartialSuccess | undefined> {
    const { records } = logs;
    const read = await mapInSlices(records, (record) => evaluationOf(record, request.agentId));
    const events = read.filter((event) => event !== undefined);
    this.metrics.logs(events.length, records.length - events.length);
    const refused = await this.#take(events, logs.rejected, request);
    return this.#partial('logs', logs.rejected + refused.count, logs.reason ?? refused.reason);
  }

  async #eventsOf(spans: readonly ReadSpan[], { caller, agentId }: OtlpRequest): Promise<readonly TranslatedEvent[]> {
    const { content, keepSteps } = this.config;
    const traces = this.memory.tracesOfAgents(caller.tenantId, spans);
    const repeated = await this.memory.repeatedCalls(caller.tenantId, spans, agentId);
    const prices = this.prices.of(caller.tenantId);
    const events = await mapInSlices(spans, (span) =>
      translateSpan(span, {
        ...{ prices, agentId, content, keepSteps },
        countedAs: repeated.get(span),
        isTraceOfAgent: traces.has(span.span.traceId),
      }),
    );
    return events.flat();
  }

  /**
   * Takes the items in parts, and charges rejected items too. If a later part fails, the parts that are already safe
   * are recognised when the exporter retries.
   */
  async #take(
    events: readonly TranslatedEvent[],
    rejected: number,
    { caller, reply }: OtlpRequest,
  ): Promise<{ readonly count: number; readonly reason: string | undefined }> {
    const cost = events.length + rejected;
    if (cost > 0) await this.ingestor.admit(caller, cost, reply);
    let count = 0;
    let reason: string | undefined;
    for (let from = 0; from < events.length; from += LIMITS.eventsPerRequest) {
      const piece = events.slice(from, from + LIMITS.eventsPerRequest);
      const handover = { events: piece, key: undefined, dialect: TRANSLATED, partial: true };
      for (const outcome of await this.ingestor.take(caller, handover)) {
        // The same span with other resource attributes, from another collector: the first is kept, and nothing is lost.
        if (outcome.ok || outcome.refusal.reason === 'conflict') continue;
        count += 1;
        reason ??= outcome.refusal.details[0]?.message;
      }
    }
    return { count, reason };
  }

  #partial(signal: string, rejected: number, reason = 'not valid'): PartialSuccess | undefined {
    this.metrics.rejected(signal, rejected);
    return rejected === 0 ? undefined : { rejected, message: `${rejected} not taken; the first because ${reason}` };
  }
}

function countsOf(spans: readonly ReadSpan[]): ReadonlyMap<SpanClass, number> {
  const counts = new Map<SpanClass, number>();
  for (const { is } of spans) counts.set(is, (counts.get(is) ?? 0) + 1);
  return counts;
}
