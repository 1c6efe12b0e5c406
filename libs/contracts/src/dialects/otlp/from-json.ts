import type { JsonObject } from '../../events.ts';
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

/**
 * The spans of an ExportTraceServiceRequest in its JSON form: ids in hex, 64-bit numbers as text or number, enums as
 * number or name. Members that are not known are ignored; a list that is missing is empty. @throws UndecodableOtlp
 */
export function tracesFromJson(body: string): OtlpTraces {
  const request = parsed('ExportTraceServiceRequest', body);
  const collector = new SpanCollector();
  for (const { resource, scopeSpans } of objects(request.resourceSpans)) {
    const from = { attributes: attributesOf(record(resource).attributes) };
    for (const { scope, spans } of objects(scopeSpans)) {
      const { name, version } = record(scope);
      for (const span of list(spans)) {
        if (isRecord(span)) collector.add(rawSpan(span), from, { name: text(name), version: text(version) });
        else collector.reject('a span is not an object');
      }
    }
  }
  return collector;
}

/** The records of an ExportLogsServiceRequest in its JSON form. @throws UndecodableOtlp */
export function logsFromJson(body: string): readonly OtlpLogRecord[] {
  const request = parsed('ExportLogsServiceRequest', body);
  return objects(request.resourceLogs).flatMap(({ resource, scopeLogs }) => {
    const from = { attributes: attributesOf(record(resource).attributes) };
    return objects(scopeLogs).flatMap(({ scope, logRecords }) =>
      objects(logRecords).map((log): OtlpLogRecord => {
        const attributes = attributesOf(log.attributes);
        const atNs = nanoseconds(log.timeUnixNano) || nanoseconds(log.observedTimeUnixNano) || 0n;
        return {
          eventName: text(log.eventName) || text(attributes.get('event.name')),
          attributes,
          traceId: validId(log.traceId, TRACE_ID_DIGITS),
          spanId: validId(log.spanId, SPAN_ID_DIGITS),
          atMs: Number(atNs / 1_000_000n),
          resource: from,
          scope: { name: text(record(scope).name), version: text(record(scope).version) },
        };
      }),
    );
  });
}

function parsed(type: string, body: string): JsonObject {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch (cause) {
    const position = /position \d+/.exec(cause instanceof Error ? cause.message : '')?.[0];
    const where = position === undefined ? 'it ends too early or is not JSON at all' : `look at ${position}`;
    throw new UndecodableOtlp(`the body is no ${type} in JSON: ${where}`, { cause });
  }
  if (!isRecord(value)) throw new UndecodableOtlp(`the body is no ${type} in JSON: it must be an object`);
  return value;
}

function rawSpan(span: JsonObject) {
  const status = record(span.status);
  return {
    traceId: validId(span.traceId, TRACE_ID_DIGITS),
    spanId: validId(span.spanId, SPAN_ID_DIGITS),
    parentSpanId: validId(span.parentSpanId, SPAN_ID_DIGITS),
    name: text(span.name),
    startNs: nanoseconds(span.startTimeUnixNano),
    endNs: nanoseconds(span.endTimeUnixNano),
    attributes: attributesOf(span.attributes),
    events: objects(span.events).map(({ name, attributes }) => ({
      name: text(name),
      attributes: attributesOf(attributes),
    })),
    linkedTraceIds: objects(span.links).map(({ traceId }) => validId(traceId, TRACE_ID_DIGITS)),
    statusCode: status.code === 'STATUS_CODE_ERROR' ? 2 : Number(status.code ?? 0),
    statusMessage: text(status.message),
    droppedAttributes: Number(span.droppedAttributesCount ?? 0) || 0,
  };
}

const DIGITS = /^\d{1,20}$/;

/** Zero where nothing is said, as in protobuf. */
function nanoseconds(value: unknown): bigint | undefined {
  if (value === undefined || value === null) return 0n;
  if (typeof value === 'number' && value >= 0 && value < 2 ** 64) return BigInt(Math.trunc(value));
  return typeof value === 'string' && DIGITS.test(value) ? BigInt(value) : undefined;
}

function attributesOf(pairs: unknown): Attributes {
  const attributes = new Map<string, unknown>();
  for (const { key, value } of objects(pairs)) {
    if (typeof key === 'string') attributes.set(key, readValue(value, 0));
  }
  return attributes;
}

function readValue(any: unknown, depth: number): unknown {
  if (!isRecord(any) || depth > MOST_DEPTH) return undefined;
  const { stringValue, boolValue, intValue, doubleValue, arrayValue, kvlistValue, bytesValue } = any;
  if (typeof stringValue === 'string') return stringValue;
  if (typeof boolValue === 'boolean') return boolValue;
  if (intValue !== undefined) return exactNumber(intValue);
  if (doubleValue !== undefined) return typeof doubleValue === 'string' ? Number(doubleValue) : doubleValue;
  if (isRecord(arrayValue)) return list(arrayValue.values).map((item) => readValue(item, depth + 1) ?? null);
  if (isRecord(kvlistValue)) {
    return Object.fromEntries(
      objects(kvlistValue.values).map((pair) => [text(pair.key), readValue(pair.value, depth + 1)]),
    );
  }
  return typeof bytesValue === 'string' ? bytesValue : undefined;
}

function exactNumber(value: unknown): unknown {
  if (typeof value !== 'string') return typeof value === 'number' ? value : undefined;
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function objects(value: unknown): readonly JsonObject[] {
  return list(value).filter(isRecord);
}

function record(value: unknown): JsonObject {
  return isRecord(value) ? value : {};
}

function isRecord(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
