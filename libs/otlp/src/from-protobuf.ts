import { type DescMessage, fromBinary, type MessageShape } from '@bufbuild/protobuf';
import {
  type AnyValue,
  InstrumentationScopeSchema,
  type KeyValue,
} from './generated/opentelemetry/proto/common/v1/common_pb.ts';
import { LogRecordSchema } from './generated/opentelemetry/proto/logs/v1/logs_pb.ts';
import { ResourceSchema } from './generated/opentelemetry/proto/resource/v1/resource_pb.ts';
import { type Span, SpanSchema } from './generated/opentelemetry/proto/trace/v1/trace_pb.ts';
import { firstText } from './attributes.ts';
import { LogCollector } from './logs.ts';
import {
  type Attributes,
  MAX_DEPTH,
  type OtlpResource,
  type OtlpScope,
  SPAN_ID_DIGITS,
  SpanCollector,
  TRACE_ID_DIGITS,
  UndecodableOtlp,
  validId,
} from './span.ts';
import { FieldBudget, OTLP_LIMITS, OuterFields, TooMuchOtlp } from './work.ts';

/** Field numbers on the path to spans and to log records, which are the same. */
const GROUPS = 1;
const RESOURCE = 1;
const SCOPE_GROUPS = 2;
const SCOPE = 1;
const ITEMS = 2;
const WITHOUT_UNKNOWN = { readUnknownFields: false };

/**
 * Reads the spans of an ExportTraceServiceRequest in protobuf. Each step decodes one span. A span that is too large is
 * rejected alone.
 * @throws UndecodableOtlp if the request cannot be decoded
 * @throws TooMuchOtlp if it exceeds the limits of a request
 */
export function* tracesFromProtobuf(body: Uint8Array): Generator<void, SpanCollector> {
  const collector = new SpanCollector();
  const budget = new FieldBudget();
  yield* requireFewItems(body, 'spans');
  for (const { item, resource, scope } of itemsOf(body, budget)) {
    const span = budget.tooHeavy(SpanSchema, item) ?? itemFrom(SpanSchema, item);
    if (typeof span === 'string') collector.reject(`a span was not read: ${span}`);
    else collector.add(rawSpan(span), resource(), scope());
    yield;
  }
  return collector;
}

/** Reads the records of an ExportLogsServiceRequest in protobuf; see `tracesFromProtobuf`. */
export function* logsFromProtobuf(body: Uint8Array): Generator<void, LogCollector> {
  const collector = new LogCollector();
  const budget = new FieldBudget();
  yield* requireFewItems(body, 'log records');
  for (const { item, resource, scope } of itemsOf(body, budget)) {
    const record = budget.tooHeavy(LogRecordSchema, item) ?? itemFrom(LogRecordSchema, item);
    if (typeof record === 'string') collector.reject(`a log record was not read: ${record}`);
    else {
      const attributes = attributesOf(record.attributes);
      collector.records.push({
        eventName: record.eventName || (firstText(attributes, ['event.name']) ?? ''),
        attributes,
        traceId: idOf(record.traceId, TRACE_ID_DIGITS),
        spanId: idOf(record.spanId, SPAN_ID_DIGITS),
        atMs: Number((record.timeUnixNano || record.observedTimeUnixNano) / 1_000_000n),
        resource: resource(),
        scope: scope(),
      });
    }
    yield;
  }
  return collector;
}

/** @throws TooMuchOtlp */
function* requireFewItems(body: Uint8Array, items: string): Generator<void> {
  const fields = new OuterFields();
  let groups = 0;
  let count = 0;
  for (const group of blocksAt(body, GROUPS, fields)) {
    requireAtMost(++groups, OTLP_LIMITS.groups, 'resources and scopes');
    for (const scopeGroup of blocksAt(group, SCOPE_GROUPS, fields)) {
      requireAtMost(++groups, OTLP_LIMITS.groups, 'resources and scopes');
      for (const _item of blocksAt(scopeGroup, ITEMS, fields)) requireAtMost(++count, OTLP_LIMITS.items, items);
    }
    yield;
  }
}

function requireAtMost(count: number, max: number, what: string): void {
  if (count > max) throw new TooMuchOtlp(`more than ${max} ${what}`);
}

interface Item {
  readonly item: Uint8Array;
  readonly resource: () => OtlpResource;
  readonly scope: () => OtlpScope;
}

/**
 * Iterates over spans or log records with their resource and scope. Accepts fields in any order and merges repeated
 * ones.
 */
function* itemsOf(body: Uint8Array, budget: FieldBudget): Generator<Item> {
  for (const group of blocksAt(body, GROUPS)) {
    const resource = once(() => ({
      attributes: attributesOf(described(ResourceSchema, group, RESOURCE, budget).attributes),
    }));
    for (const scopeGroup of blocksAt(group, SCOPE_GROUPS)) {
      const scope = once(() => {
        const { name, version } = described(InstrumentationScopeSchema, scopeGroup, SCOPE, budget);
        return { name, version };
      });
      for (const item of blocksAt(scopeGroup, ITEMS)) yield { item, resource, scope };
    }
  }
}

function* blocksAt(message: Uint8Array, field: number, fields = new OuterFields()): Generator<Uint8Array> {
  for (const block of fields.of(message)) if (block.field === field) yield block.bytes;
}

function described<Desc extends DescMessage>(
  desc: Desc,
  group: Uint8Array,
  field: number,
  budget: FieldBudget,
): MessageShape<Desc> {
  const parts = Buffer.concat([...blocksAt(group, field)]);
  budget.take(desc, parts);
  return decoded(desc.name, desc, parts);
}

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

/** Decodes an item, or returns why it cannot be decoded, such as text that is not UTF-8. */
function itemFrom<Desc extends DescMessage>(desc: Desc, bytes: Uint8Array): MessageShape<Desc> | string {
  try {
    return fromBinary(desc, bytes, WITHOUT_UNKNOWN);
  } catch (cause) {
    return cause instanceof Error ? cause.message : String(cause);
  }
}

function decoded<Desc extends DescMessage>(type: string, desc: Desc, bytes: Uint8Array): MessageShape<Desc> {
  try {
    return fromBinary(desc, bytes, WITHOUT_UNKNOWN);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new UndecodableOtlp(`the body is no OTLP request in protobuf: no ${type}: ${why}`, { cause });
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
  if (any === undefined || depth > MAX_DEPTH) return undefined;
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

/** Returns a number if a double represents it exactly, else its digits. */
function exactNumber(value: bigint): number | string {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : String(value);
}
