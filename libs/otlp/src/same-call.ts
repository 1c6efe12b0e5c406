import type { Generation } from './classify.ts';

/** What shows whether two spans report one model call. */
export interface TracedCall {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  /** Name of the instrumentation's scope. */
  readonly scope: string;
  readonly generation: Generation | undefined;
  readonly startMs: number;
  readonly endMs: number;
  /** The provider's id of the response. */
  readonly responseId: string | undefined;
  readonly model: string | undefined;
  readonly inputTokens: number;
  readonly outputTokens: number;
}

/** A shorter overlap is that of two calls, one after the other. */
const MIN_OVERLAP = 0.5;

/** Whether two spans are one span, sent twice. */
export function isSameSpan(one: Pick<TracedCall, 'traceId' | 'spanId'>, other: typeof one): boolean {
  return one.spanId === other.spanId && one.traceId === other.traceId;
}

/**
 * Whether two instrumentations of one process report one model call: in one trace with the provider's id of the
 * response or one directly inside the other; otherwise at the same time, with equal tokens. An id alone does not show
 * it, because some servers number their answers from zero. Two spans of one instrumentation are two calls unless they
 * share trace and id.
 */
export function isSameCall(one: TracedCall, other: TracedCall): boolean {
  const isSameTrace = one.traceId === other.traceId;
  const isSameId = one.responseId !== undefined && one.responseId === other.responseId;
  if (isSameTrace && (isSameId || one.parentSpanId === other.spanId || other.parentSpanId === one.spanId)) return true;
  if (!isSameId && one.responseId !== undefined && other.responseId !== undefined) return false;
  if (one.scope === other.scope && (!isSameTrace || one.generation === other.generation)) return false;
  if (!overlap(one, other) || !areAlike(one.model, other.model)) return false;
  const [isSameInput, isSameOutput] = [one.inputTokens === other.inputTokens, one.outputTokens === other.outputTokens];
  // Some instrumentations of streams count a token twice, so one equal count is enough beside an equal id.
  return isSameId
    ? isSameInput || isSameOutput || !hasTokens(one) || !hasTokens(other)
    : isSameInput && isSameOutput && hasTokens(one);
}

/** A call without tokens must not count in the place of one with tokens. */
export function hasTokens({ inputTokens, outputTokens }: TracedCall): boolean {
  return inputTokens + outputTokens > 0;
}

function overlap(one: TracedCall, other: TracedCall): boolean {
  const common = Math.min(one.endMs, other.endMs) - Math.max(one.startMs, other.startMs);
  const shorter = Math.min(one.endMs - one.startMs, other.endMs - other.startMs);
  return common >= 0 && common >= shorter * MIN_OVERLAP;
}

/** One may have the date of a release or the name of a provider that the other lacks. */
function areAlike(one: string | undefined, other: string | undefined): boolean {
  if (one === undefined || other === undefined) return true;
  const [a, b] = [plainName(one), plainName(other)];
  return a.startsWith(b) || b.startsWith(a);
}

function plainName(model: string): string {
  return model.slice(model.lastIndexOf('/') + 1).toLowerCase();
}
