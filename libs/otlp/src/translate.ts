import {
  derivedId,
  type EventKind,
  type JsonObject,
  OTLP_DIALECT,
  type PriceBook,
  type RunOutcome,
  type TranslatedEvent,
  type Usage,
} from '@agentlens/contracts';
import { firstText, present, unpacked } from './attributes.ts';
import { type Classification, classify } from './classify.ts';
import type { ContentMode } from './messages.ts';
import { modelCallOf, type ReadCall, readCall } from './model-call.ts';
import { repaired } from './repair.ts';
import type { TracedCall } from './same-call.ts';
import type { OtlpSpan } from './span.ts';
import { answersWithError, toolCallOf } from './tool-call.ts';
import { agentNameOf, ownNameOf, type Who, whoOf } from './who.ts';

/** Maximum lengths. Some sources put a whole stack trace into the status. */
const MESSAGE_CHARS = 2_000;
const STACK_CHARS = 8_000;
const CODE_CHARS = 256;
const UNEXPLAINED = 'failed without a message';

/**
 * Returns the error of a failed span as payload members `error`, `errorCode`, `stackTrace`.
 * @param saysSo true if the span's own contents report a failure
 */
export function failureOf(span: OtlpSpan, saysSo = false): JsonObject | undefined {
  const { attributes, events, failed, statusMessage } = span;
  const type = firstText(attributes, ['error.type']);
  if (!failed && type === undefined && !saysSo) return undefined;
  const exception = events.find(({ name }) => name === 'exception')?.attributes ?? new Map<string, unknown>();
  const message = firstText(exception, ['exception.message']) ?? (statusMessage || type || UNEXPLAINED);
  const stack = firstText(exception, ['exception.stacktrace']);
  return present({
    error: cut(message, MESSAGE_CHARS),
    errorCode: cut(type ?? firstText(exception, ['exception.type']), CODE_CHARS),
    stackTrace: cut(stack, STACK_CHARS),
  });
}

function cut(text: string | undefined, most: number): string | undefined {
  return text === undefined || text.length <= most ? text : `${text.slice(0, most)}…`.toWellFormed();
}

/** A span with its classification. */
export interface ReadSpan extends Classification {
  readonly span: OtlpSpan;
  /** Of a model call or an embedding. */
  readonly call: ReadCall | undefined;
}

/** Of several spans for one model call, the one that counts. */
export interface CountedCall {
  readonly traceId: string;
  readonly spanId: string;
  /** Scope of its instrumentation; undefined if it is no longer known. */
  readonly scope: string | undefined;
}

/** What the translation of a span depends on besides the span. */
export interface OtlpContext {
  readonly prices: PriceBook;
  /** From the request's header `x-agentlens-agent`. */
  readonly agentId: string | undefined;
  readonly content: ContentMode;
  /** True to keep steps of frameworks as events. */
  readonly keepSteps: boolean;
  /** Another span with the same response id, which counts instead of this one. */
  readonly countedAs?: CountedCall | undefined;
  /** True if the trace is known to contain spans about models, so that a foreign root begins and ends its run. */
  readonly isTraceOfAgent?: boolean;
}

export function readSpan(span: OtlpSpan): ReadSpan {
  const classification = classify(span.attributes);
  const { is } = classification;
  return { span, ...classification, call: is === 'model_call' || is === 'embedding' ? readCall(span) : undefined };
}

/** What shows whether another span reports the same model call; undefined for other spans. */
export function tracedCall({ is, span, call, generation }: ReadSpan): TracedCall | undefined {
  if (is !== 'model_call' || call === undefined) return undefined;
  const { traceId, spanId, parentSpanId, scope, startMs, endMs } = span;
  const { responseId, model, tokens } = call;
  const { inputTokens = 0, outputTokens = 0 } = tokens.usage ?? {};
  return {
    ...{ traceId, spanId, parentSpanId, scope: scope.name, generation, startMs, endMs },
    ...{ responseId, model, inputTokens, outputTokens },
  };
}

/** Returns true if a span of this kind makes its trace a run. */
export function isOfAgent({ is }: ReadSpan): boolean {
  return is !== 'foreign' && is !== 'registration';
}

/**
 * Translates a span into events: its own, and the start and end of its run if it reports them. Ids and times depend
 * only on the span, so the events do not depend on the order, batching or repetition of spans.
 */
export function translateSpan(read: ReadSpan, context: OtlpContext): readonly TranslatedEvent[] {
  const { span } = read;
  const isRoot = span.parentSpanId === undefined;
  if (read.is === 'registration') return [];
  if (read.is === 'foreign' && !(isRoot && context.isTraceOfAgent === true)) return [];
  const who = whoOf(span, context.agentId);
  const own = ownEvent(read, who, context);
  if (isRoot) return [...own, started(read, who), ended(read, who, rankOfRoot(read))];
  if (read.is === 'agent' && ownNameOf(span.attributes) !== undefined) return [...own, ended(read, who, 'agent')];
  return own;
}

/**
 * Which span reports the end of a run: its root, an agent inside it, or one span that is both. A root without an agent
 * name can succeed although the agent below it failed.
 */
type EndedBy = 'root' | 'agent' | 'root_agent';

function rankOfRoot({ is, span }: ReadSpan): EndedBy {
  return is === 'agent' && ownNameOf(span.attributes) !== undefined ? 'root_agent' : 'root';
}

/** Fields that differ between the events of one span. */
interface Happening {
  readonly what: string;
  readonly kind: EventKind;
  readonly sourceType: string;
  readonly atMs: number;
  readonly isError: boolean;
  readonly payload: JsonObject;
  readonly repaired?: readonly string[];
  readonly toolName?: string | undefined;
  readonly callId?: string | undefined;
  readonly model?: string | undefined;
  readonly provider?: string | undefined;
  readonly usage?: Usage | undefined;
  readonly agentName?: string | undefined;
  readonly outcome?: RunOutcome | undefined;
  readonly parentRunId?: string | undefined;
}

function ownEvent(read: ReadSpan, who: Who, context: OtlpContext): readonly TranslatedEvent[] {
  switch (read.is) {
    case 'model_call':
      return [
        context.countedAs === undefined ? modelCall(read, who, context) : duplicate(read, who, context.countedAs),
      ];
    case 'embedding':
      return [embedding(read, who, context)];
    case 'tool_call':
      return [toolCall(read, who, context)];
    case 'kept_step':
      return [step(read, who, read.step ?? 'custom', context)];
    case 'step':
      return context.keepSteps ? [step(read, who, 'chain_step', context)] : [];
    case 'agent':
      return isCutShort(read) ? [cutShort(read, who)] : [];
    default:
      return [];
  }
}

function modelCall(read: ReadSpan, who: Who, { prices, content }: OtlpContext): TranslatedEvent {
  const { model, provider, usage, payload, repaired } = modelCallOf(
    read.span,
    read.call ?? readCall(read.span),
    prices,
    content,
  );
  const failure = failureOf(read.span);
  return eventOf(read, who, {
    what: 'call',
    kind: 'llm.completed',
    sourceType: 'llm_response',
    atMs: read.span.endMs,
    isError: failure !== undefined,
    payload: { ...payload, ...failure },
    callId: read.span.spanId,
    ...{ model, provider, usage, repaired },
  });
}

/** Kept without its tokens, because another instrumentation reported the same call. */
function duplicate(read: ReadSpan, who: Who, { traceId, scope }: CountedCall): TranslatedEvent {
  return eventOf(read, who, {
    what: 'duplicate',
    kind: 'custom.recorded',
    sourceType: 'duplicate_model_call',
    atMs: read.span.endMs,
    isError: false,
    payload: { name: read.span.name, responseId: read.call?.responseId, countedAs: present({ traceId, scope }) },
    usage: { latencyMs: read.span.durationMs },
  });
}

function embedding(read: ReadSpan, who: Who, { prices }: OtlpContext): TranslatedEvent {
  const { model, provider, usage, payload, repaired } = modelCallOf(
    read.span,
    read.call ?? readCall(read.span),
    prices,
    'none',
  );
  const failure = failureOf(read.span);
  return eventOf(read, who, {
    what: 'call',
    kind: 'cost.recorded',
    sourceType: 'embedding',
    atMs: read.span.endMs,
    isError: failure !== undefined,
    payload: { ...payload, ...failure },
    ...{ model, provider, usage, repaired },
  });
}

function toolCall(read: ReadSpan, who: Who, { content }: OtlpContext): TranslatedEvent {
  const { toolName, callId, payload } = toolCallOf(read.span, content);
  const failure = failureOf(read.span, answersWithError(read.span));
  return eventOf(read, who, {
    what: 'call',
    kind: 'tool.completed',
    sourceType: failure === undefined ? 'tool_response' : 'tool_error',
    atMs: read.span.endMs,
    isError: failure !== undefined,
    payload: { ...payload, ...failure },
    usage: { latencyMs: read.span.durationMs },
    ...{ toolName, callId },
  });
}

function step(read: ReadSpan, who: Who, sourceType: string, { content }: OtlpContext): TranslatedEvent {
  const { attributes, name, durationMs, endMs } = read.span;
  const contents =
    content === 'none'
      ? {}
      : present({ input: unpacked(attributes.get('input.value')), output: unpacked(attributes.get('output.value')) });
  return eventOf(read, who, {
    what: 'step',
    kind: 'custom.recorded',
    sourceType,
    atMs: endMs,
    isError: false,
    payload: { name, durationMs, ...contents, ...failureOf(read.span) },
    usage: { latencyMs: durationMs },
  });
}

function started(read: ReadSpan, who: Who): TranslatedEvent {
  const { span } = read;
  return eventOf(read, who, {
    what: 'start',
    kind: 'run.started',
    sourceType: 'span_root',
    atMs: span.startMs,
    isError: false,
    payload: present({ name: span.name, actor: actorOf(who) }),
    agentName: agentNameOf(span),
    parentRunId: span.linkedTraceIds.find((traceId) => traceId !== span.traceId),
  });
}

/**
 * A failed root counts as an error, because some frameworks trace no failed call. An agent inside it does not, because
 * its calls report the error, and neither does a root that is itself a call.
 */
function ended(read: ReadSpan, who: Who, by: EndedBy): TranslatedEvent {
  const { span } = read;
  const failure = failureOf(span);
  const agentName = read.is === 'foreign' ? undefined : agentNameOf(span);
  const counts = by !== 'agent' && ['agent', 'step', 'kept_step'].includes(read.is);
  return eventOf(read, who, {
    what: 'end',
    kind: 'run.ended',
    sourceType: by === 'agent' ? 'span_agent' : 'span_root',
    atMs: span.endMs,
    isError: counts && failure !== undefined,
    payload: { ...present({ name: span.name, by, agentName, durationMs: span.durationMs }), ...failure },
    agentName,
    outcome: failure !== undefined ? 'failed' : isCutShort(read) ? 'interrupted' : 'succeeded',
  });
}

/**
 * A call of the AI SDK that was aborted, or whose stream was left, ends without an error and without the span of its
 * model call. Only what a finished call reports is missing.
 */
function isCutShort({ span }: ReadSpan): boolean {
  const { attributes, scope } = span;
  const finish = attributes.has('ai.operationId')
    ? 'ai.response.finishReason'
    : scope.name === AI_SDK_7_SCOPE
      ? 'gen_ai.response.finish_reasons'
      : undefined;
  return finish !== undefined && !attributes.has(finish) && failureOf(span) === undefined;
}

/** Of the class `OpenTelemetry` of `@ai-sdk/otel`. */
const AI_SDK_7_SCOPE = 'gen_ai';

/** The provider bills a call that was cut short, but no span reports its tokens. */
function cutShort(read: ReadSpan, who: Who): TranslatedEvent {
  const { model } = readCall(read.span);
  return eventOf(read, who, {
    what: 'cut_short',
    kind: 'cost.recorded',
    sourceType: 'model_call_cut_short',
    atMs: read.span.endMs,
    isError: false,
    payload: present({
      name: read.span.name,
      model,
      note: 'the call ended before its answer; its tokens are not reported',
    }),
    model,
    usage: { costSource: 'unpriced', unpricedReason: 'no_tokens' },
  });
}

function actorOf({ actorId }: Who): JsonObject | undefined {
  return actorId === undefined ? undefined : { externalId: actorId };
}

function eventOf({ span, generation }: ReadSpan, who: Who, happening: Happening): TranslatedEvent {
  const { what, kind, sourceType, atMs, isError, payload, repaired: tokenNotes = [], ...facts } = happening;
  const { runId, agentId, sessionId, actorId, agentVersion, tags } = who;
  const contents = repaired(payload);
  const notes = [...tokenNotes, ...contents.notes, ...dropped(span)];
  const otlp = present({
    ...{
      spanId: span.spanId,
      parentSpanId: span.parentSpanId,
      traceId: span.traceId === runId ? undefined : span.traceId,
    },
    ...{
      scope: span.scope.name.slice(0, 256),
      scopeVersion: versionIn(span),
      generation,
      mended: notes.length === 0 ? undefined : notes,
    },
  });
  return {
    clientId: derivedId(atMs, OTLP_DIALECT, span.traceId, span.spanId, what),
    timestamp: new Date(atMs).toISOString(),
    retold: true,
    facts: {
      ...{ agentId, runId, sessionId, actorId, agentVersion, tags, kind, dialect: OTLP_DIALECT, sourceType, isError },
      severity: isError ? 'error' : 'info',
      ...facts,
      payload: contents.value,
      metadata: { otlp },
    },
  };
}

function versionIn({ scope }: OtlpSpan): string | undefined {
  return scope.version === '' ? undefined : scope.version.slice(0, 100);
}

function dropped({ droppedAttributes }: OtlpSpan): readonly string[] {
  return droppedAttributes > 0 ? [`the SDK left out ${droppedAttributes} attributes`] : [];
}
