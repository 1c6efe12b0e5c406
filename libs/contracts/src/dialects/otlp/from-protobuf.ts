import { fromBinary } from '@bufbuild/protobuf';
import { ExportLogsServiceRequestSchema } from '../../generated/opentelemetry/proto/collector/logs/v1/logs_service_pb.ts';
import { ExportTraceServiceRequestSchema } from '../../generated/opentelemetry/proto/collector/trace/v1/trace_service_pb.ts';
import type { AnyValue, KeyValue } from '../../generated/opentelemetry/proto/common/v1/common_pb.ts';
import type { Span } from '../../generated/opentelemetry/proto/trace/v1/trace_pb.ts';
import { firstText } from './attributes.ts';
import type { OtlpLogRecord } from './logs.ts';
import {
  type Attributes,
  MOST_DEPTH,
  type OtlpTraces,
  SPAN_ID_DIGITS,
  SpanCollector,
  TRACE_ID_DIGITS,
  UndecodableOtlp,
  validId,
} from './span.ts';

/** The spans of an ExportTraceServiceRequest in its binary form. @throws UndecodableOtlp */
export function tracesFromProtobuf(body: Uint8Array): OtlpTraces {
  const request = decoded('ExportTraceServiceRequest', () => fromBinary(ExportTraceServiceRequestSchema, body));
  const collector = new SpanCollector();
  for (const { resource, scopeSpans } of request.resourceSpans) {
    const from = { attributes: attributesOf(resource?.attributes ?? []) };
    for (const { scope, spans } of scopeSpans) {
      const { name = '', version = '' } = scope ?? {};
      for (const span of spans) collector.add(rawSpan(span), from, { name, version });
    }
  }
  return collector;
}

/** The records of an ExportLogsServiceRequest in its binary form. @throws UndecodableOtlp */
export function logsFromProtobuf(body: Uint8Array): readonly OtlpLogRecord[] {
  const request = decoded('ExportLogsServiceRequest', () => fromBinary(ExportLogsServiceRequestSchema, body));
  return request.resourceLogs.flatMap(({ resource, scopeLogs }) => {
    const from = { attributes: attributesOf(resource?.attributes ?? []) };
    return scopeLogs.flatMap(({ scope, logRecords }) =>
      logRecords.map((record): OtlpLogRecord => {
        const attributes = attributesOf(record.attributes);
        return {
          eventName: record.eventName || (firstText(attributes, ['event.name']) ?? ''),
          attributes,
          traceId: idOf(record.traceId, TRACE_ID_DIGITS),
          spanId: idOf(record.spanId, SPAN_ID_DIGITS),
          atMs: Number((record.timeUnixNano || record.observedTimeUnixNano) / 1_000_000n),
          resource: from,
          scope: { name: scope?.name ?? '', version: scope?.version ?? '' },
        };
      }),
    );
  });
}

function decoded<T>(type: string, decode: () => T): T {
  try {
    return decode();
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new UndecodableOtlp(`the body is no ${type} in protobuf: ${why}`, { cause });
  }
}

function rawSpan(span: Span) {
  return {
    traceId: idOf(span.traceId, TRACE_ID_DIGITS),
    spanId: idOf(span.spanId, SPAN_ID_DIGITS),
    parentSpanId: idOf(span.parentSpanId, SPAN_ID_DIGITS),
    name: span.name,
    startNs: span.startTimeUnixNano,
    endNs: span.endTimeUnixNano,
    attributes: attributesOf(span.attributes),
    events: span.events.map(({ name, attributes }) => ({ name, attributes: attributesOf(attributes) })),
    linkedTraceIds: span.links.map(({ traceId }) => idOf(traceId, TRACE_ID_DIGITS)),
    statusCode: span.status?.code ?? 0,
    statusMessage: span.status?.message ?? '',
    droppedAttributes: span.droppedAttributesCount,
  };
}

function idOf(bytes: Uint8Array, digits: number): string | undefined {
  return bytes.length * 2 === digits ? validId(Buffer.from(bytes).toString('hex'), digits) : undefined;
}

function attributesOf(pairs: readonly KeyValue[]): Attributes {
  const attributes = new Map<string, unknown>();
  for (const { key, value } of pairs) attributes.set(key, readValue(value, 0));
  return attributes;
}

function readValue(any: AnyValue | undefined, depth: number): unknown {
  if (any === undefined || depth > MOST_DEPTH) return undefined;
  const { value } = any;
  switch (value.case) {
    case 'intValue':
      return exactNumber(value.value);
    case 'arrayValue':
      return value.value.values.map((item) => readValue(item, depth + 1) ?? null);
    case 'kvlistValue':
      return Object.fromEntries(value.value.values.map((pair) => [pair.key, readValue(pair.value, depth + 1)]));
    case 'bytesValue':
      return Buffer.from(value.value).toString('base64');
    case 'stringValueStrindex':
      return undefined;
    default:
      return value.value;
  }
}

/** A number where a double holds it exactly, else its digits. */
function exactNumber(value: bigint): number | string {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : String(value);
}
