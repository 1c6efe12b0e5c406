import { type DecisionRequest, sha256Hex, timeOrderedId } from '@agentlens/contracts';
import { sanitise } from '../sanitise.ts';

/** What stands for a content that cannot be judged: rules find nothing in it, and it equals no other content. */
export interface Omitted {
  readonly $omitted: { readonly reason: 'unreadable' | 'too_large'; readonly sha256: string };
}

/** Leaves room for the rest of the question below the broker's 1 MiB. */
const MOST_CONTENT_CHARS = 250_000;
const MOST_QUESTION_BYTES = 900_000;
/** A body below this needs no measuring. */
const SMALL_BODY_BYTES = 200_000;

/**
 * The question in a form that reaches the evaluator. Arguments of a call come from a model and may be anything; what
 * cannot be judged (too deep, too large, not JSON) is left out for the rules to treat as missing, never a reason to
 * refuse the question, which the client would read as "go on".
 */
export function transportable(request: DecisionRequest, bodyBytes: number): DecisionRequest {
  const measure = bodyBytes > SMALL_BODY_BYTES;
  const { receivedAt } = request;
  const args = contentOf(request.args, measure, receivedAt);
  const result = contentOf(request.result, measure, receivedAt);
  const question = { ...request, args, result };
  if (!measure || Buffer.byteLength(JSON.stringify(question)) <= MOST_QUESTION_BYTES) return question;
  return { ...question, tags: {}, subjects: [], metrics: {}, actor: undefined };
}

function contentOf(value: unknown, measure: boolean, receivedAt: string): unknown {
  if (value === undefined) return undefined;
  if (sanitise(value) !== undefined || isUnsafeScalar(value)) return omitted('unreadable', value, receivedAt);
  if (measure && JSON.stringify(value).length > MOST_CONTENT_CHARS) return omitted('too_large', value, receivedAt);
  return value;
}

function isUnsafeScalar(value: unknown): boolean {
  return typeof value === 'number' && !Number.isFinite(value);
}

function omitted(reason: Omitted['$omitted']['reason'], value: unknown, receivedAt: string): Omitted {
  return { $omitted: { reason, sha256: sha256Hex(textOf(value, receivedAt)) } };
}

/** Contents nested deeper than the stack are each their own: an approval of one must not cover another. */
function textOf(value: unknown, receivedAt: string): string {
  try {
    return JSON.stringify(value);
  } catch {
    return timeOrderedId(Date.parse(receivedAt));
  }
}
