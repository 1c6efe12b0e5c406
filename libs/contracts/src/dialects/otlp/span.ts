/** Attributes by name. Values are text, numbers, flags, lists and objects of them. A map, so that no name is special. */
export type Attributes = ReadonlyMap<string, unknown>;

export interface OtlpResource {
  readonly attributes: Attributes;
}

export interface OtlpScope {
  readonly name: string;
  readonly version: string;
}

interface OtlpSpanEvent {
  readonly name: string;
  readonly attributes: Attributes;
}

/** One span with its scope and its resource: all that its translation may look at. */
export interface OtlpSpan {
  /** 32 hex digits. */
  readonly traceId: string;
  /** 16 hex digits. */
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly name: string;
  /** Unix time, ms, rounded down. */
  readonly startMs: number;
  /** Never before the start. */
  readonly endMs: number;
  /** With the fraction that the sent nanoseconds have. */
  readonly durationMs: number;
  readonly attributes: Attributes;
  readonly events: readonly OtlpSpanEvent[];
  /** Trace ids of the spans it links to, in the order sent. */
  readonly linkedTraceIds: readonly string[];
  readonly failed: boolean;
  readonly statusMessage: string;
  /** Attributes that the SDK left out. */
  readonly droppedAttributes: number;
  readonly resource: OtlpResource;
  readonly scope: OtlpScope;
}

/** What a request holds. Spans that cannot be known again (no valid id, no time) are counted and not read. */
export interface OtlpTraces {
  readonly spans: readonly OtlpSpan[];
  readonly rejected: number;
  /** Why the first of them was not read. */
  readonly reason: string | undefined;
}

/** A body that is not what its content type says. */
export class UndecodableOtlp extends Error {
  override readonly name = 'UndecodableOtlp';
}

/** Deeper values are left out: no instrumentation nests so far, and readers of values call themselves. */
export const MOST_DEPTH = 64;

const STATUS_ERROR = 2;

/** A span as either format has it. */
interface RawSpan {
  readonly traceId: string | undefined;
  readonly spanId: string | undefined;
  readonly parentSpanId: string | undefined;
  readonly name: string;
  readonly startNs: bigint | undefined;
  readonly endNs: bigint | undefined;
  readonly attributes: Attributes;
  readonly events: readonly OtlpSpanEvent[];
  readonly linkedTraceIds: readonly (string | undefined)[];
  readonly statusCode: number;
  readonly statusMessage: string;
  readonly droppedAttributes: number;
}

/** Gathers what a request holds. */
export class SpanCollector implements OtlpTraces {
  readonly spans: OtlpSpan[] = [];
  rejected = 0;
  reason: string | undefined;

  add(raw: RawSpan, resource: OtlpResource, scope: OtlpScope): void {
    const { traceId, spanId, startNs, endNs } = raw;
    if (traceId === undefined || spanId === undefined || startNs === undefined || endNs === undefined) {
      this.reject(wrongWith(raw));
      return;
    }
    const lastNs = endNs < startNs ? startNs : endNs;
    const { name, attributes, events, statusMessage, droppedAttributes } = raw;
    this.spans.push({
      ...{ traceId, spanId, parentSpanId: raw.parentSpanId, name, attributes, events, resource, scope },
      ...{ statusMessage, droppedAttributes, failed: raw.statusCode === STATUS_ERROR },
      startMs: millisecondsOf(startNs),
      endMs: millisecondsOf(lastNs),
      durationMs: Number(lastNs - startNs) / 1e6,
      linkedTraceIds: raw.linkedTraceIds.filter((id) => id !== undefined),
    });
  }

  reject(reason: string): void {
    this.rejected += 1;
    this.reason ??= reason;
  }
}

function wrongWith({ traceId, spanId }: RawSpan): string {
  if (traceId === undefined) return 'a span has no valid trace id (16 bytes, not all zero)';
  if (spanId === undefined) return 'a span has no valid span id (8 bytes, not all zero)';
  return 'a span has a start or an end that is not a number of nanoseconds';
}

function millisecondsOf(nanoseconds: bigint): number {
  return Number(nanoseconds / 1_000_000n);
}

/** The id in lower case; undefined if it is not of this length in hex digits, or all zero. */
export function validId(hex: unknown, digits: number): string | undefined {
  if (typeof hex !== 'string' || hex.length !== digits || !/^[0-9a-f]+$/i.test(hex) || /^0+$/.test(hex))
    return undefined;
  return hex.toLowerCase();
}

export const TRACE_ID_DIGITS = 32;
export const SPAN_ID_DIGITS = 16;
