/** Attributes by name. Values are strings, numbers, booleans, lists and objects. A map, so that no name is special. */
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

/** One span with its scope and resource: the whole input of its translation. */
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
  /** Includes the fraction from the nanoseconds. */
  readonly durationMs: number;
  readonly attributes: Attributes;
  readonly events: readonly OtlpSpanEvent[];
  /** Trace ids of the spans it links to, in the order sent. */
  readonly linkedTraceIds: readonly string[];
  readonly failed: boolean;
  readonly statusMessage: string;
  /** Number of attributes that the SDK dropped. */
  readonly droppedAttributes: number;
  readonly resource: OtlpResource;
  readonly scope: OtlpScope;
}

/** Contents of a request. Spans that cannot be identified (no valid id or time) are counted but not read. */
export interface OtlpTraces {
  readonly spans: readonly OtlpSpan[];
  readonly rejected: number;
  /** Why the first of them was rejected. */
  readonly reason: string | undefined;
}

/** The body does not match its content type. */
export class UndecodableOtlp extends Error {
  override readonly name = 'UndecodableOtlp';
}

/**
 * Maximum nesting of values. Deeper ones are left out, because they are read recursively; no instrumentation nests as
 * deep.
 */
export const MAX_DEPTH = 64;

const STATUS_ERROR = 2;

/** A span as decoded from either format. */
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

/** Collects the spans of a request. */
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

/** Returns the id in lower case, or undefined if it does not have this number of hex digits or is all zero. */
export function validId(hex: unknown, digits: number): string | undefined {
  if (typeof hex !== 'string' || hex.length !== digits || !/^[0-9a-f]+$/i.test(hex) || /^0+$/.test(hex))
    return undefined;
  return hex.toLowerCase();
}

export const TRACE_ID_DIGITS = 32;
export const SPAN_ID_DIGITS = 16;
