import { BrokenJson, type JsonObject, parseInSteps, TooMuchJson } from '@agentlens/contracts';
import { LogCollector } from './logs.ts';
import {
  type Attributes,
  MAX_DEPTH,
  SPAN_ID_DIGITS,
  SpanCollector,
  TRACE_ID_DIGITS,
  UndecodableOtlp,
  validId,
} from './span.ts';
import { OTLP_LIMITS, TooMuchOtlp } from './work.ts';

/**
 * Reads the spans of an ExportTraceServiceRequest in JSON: ids in hex, 64-bit numbers as text or number, enums as
 * number or name. Ignores unknown members and treats a missing list as empty. Each step parses a piece of the text or
 * reads one span.
 * @throws UndecodableOtlp if the body is not such a request
 * @throws TooMuchOtlp if it exceeds the limits of a request
 */
export function* tracesFromJson(body: string): Generator<void, SpanCollector> {
  const request = yield* parsed('ExportTraceServiceRequest', body);
  const collector = new SpanCollector();
  for (const { resource, scopeSpans } of objects(request.resourceSpans)) {
    const from = { attributes: attributesOf(record(resource).attributes) };
    for (const { scope, spans } of objects(scopeSpans)) {
      const { name, version } = record(scope);
      for (const span of list(spans)) {
        const reason = isRecord(span) ? tooHeavy(span) : 'it is not an object';
        if (isRecord(span) && reason === undefined) {
          collector.add(rawSpan(span), from, { name: text(name), version: text(version) });
        } else collector.reject(`a span was not read: ${reason}`);
        requireFewItems(collector.spans.length + collector.rejected, 'spans');
        yield;
      }
    }
  }
  return collector;
}

/** Reads the records of an ExportLogsServiceRequest in JSON; see `tracesFromJson`. */
export function* logsFromJson(body: string): Generator<void, LogCollector> {
  const request = yield* parsed('ExportLogsServiceRequest', body);
  const collector = new LogCollector();
  for (const { resource, scopeLogs } of objects(request.resourceLogs)) {
    const from = { attributes: attributesOf(record(resource).attributes) };
    for (const { scope, logRecords } of objects(scopeLogs)) {
      for (const log of objects(logRecords)) {
        const reason = tooHeavy(log);
        if (reason !== undefined) {
          collector.reject(`a log record was not read: ${reason}`);
          continue;
        }
        const attributes = attributesOf(log.attributes);
        const atNs = nanoseconds(log.timeUnixNano) || nanoseconds(log.observedTimeUnixNano) || 0n;
        collector.records.push({
          eventName: text(log.eventName) || text(attributes.get('event.name')),
          attributes,
          traceId: validId(log.traceId, TRACE_ID_DIGITS),
          spanId: validId(log.spanId, SPAN_ID_DIGITS),
          atMs: Number(atNs / 1_000_000n),
          resource: from,
          scope: { name: text(record(scope).name), version: text(record(scope).version) },
        });
        requireFewItems(collector.records.length, 'log records');
        yield;
      }
    }
  }
  return collector;
}

/** Returns why a single item is rejected, or undefined if it is within the limits. */
function tooHeavy(item: JsonObject): string | undefined {
  const open: object[] = [item];
  let values = 0;
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    for (const value of Object.values(next)) {
      values += 1;
      if (typeof value === 'object' && value !== null) open.push(value);
    }
    if (values > OTLP_LIMITS.fieldsPerItem) {
      return `its attributes, events and links have more than ${OTLP_LIMITS.fieldsPerItem} fields`;
    }
  }
  return undefined;
}

function requireFewItems(count: number, items: string): void {
  if (count > OTLP_LIMITS.items) throw new TooMuchOtlp(`more than ${OTLP_LIMITS.items} ${items}`);
}

function* parsed(type: string, body: string): Generator<void, JsonObject> {
  const value = yield* parsedJson(type, body);
  if (!isRecord(value)) throw new UndecodableOtlp(`the body is no ${type} in JSON: it must be an object`);
  return value;
}

function* parsedJson(type: string, body: string): Generator<void, unknown> {
  try {
    return (yield* parseInSteps(body, { maxUnits: OTLP_LIMITS.jsonUnits })).value;
  } catch (cause) {
    if (cause instanceof TooMuchJson) {
      throw new TooMuchOtlp(`more than ${cause.maxUnits} keys, values and lists; protobuf takes more in one request`);
    }
    if (!(cause instanceof BrokenJson)) throw cause;
    const where =
      cause.position === undefined ? 'it ends too early or is not JSON at all' : `look at position ${cause.position}`;
    throw new UndecodableOtlp(`the body is no ${type} in JSON: ${where}`, { cause });
  }
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

/** Absent means zero, as in protobuf. */
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
  if (!isRecord(any) || depth > MAX_DEPTH) return undefined;
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
