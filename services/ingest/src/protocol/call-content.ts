import { type DecisionRequest, sha256Hex, timeOrderedId, type UnreadContent } from '@agentlens/contracts';
import { type ReadablePart, readablePart, readablePartOfSmall } from './readable-part.ts';

const MOST_CONTENT_CHARS = 250_000;
/** Leaves room below the broker's 1 MiB. */
const MOST_QUESTION_BYTES = 900_000;
/** A body below this needs no measuring. */
const SMALL_BODY_BYTES = 200_000;
/** Of a character of JSON in UTF-8. */
const MOST_CHAR_BYTES = 3;
/** What stands for contents beside themselves: reasons and hashes. */
const ROOM_BYTES = 1_000;

type Part = 'args' | 'result';
type Contents = Pick<DecisionRequest, Part | 'unread'>;

/**
 * The question in a form that reaches the evaluator. Arguments of a call come from a model and may be anything: what
 * cannot be judged is left out, and said to be, so that rules that look there cannot tell. That is never a reason to
 * refuse the question, which the client would read as "go on". Who asks and about what is never left out; null: that
 * alone is more than can be handed over.
 * @param unsent what the client says it did not send whole
 * @param written the arguments as they stand in the body, where others read the same
 */
export function transportable(
  request: DecisionRequest,
  bodyBytes: number,
  unsent: readonly Part[] = [],
  written?: string,
): DecisionRequest | null {
  const part = partOf(request, bodyBytes, unsent);
  if (part === null) return null;
  if (written !== undefined) {
    const whole = part.unread?.args === undefined;
    const fits = whole && (bodyBytes <= SMALL_BODY_BYTES || bytesOf(part) + bytesOf(written) <= MOST_QUESTION_BYTES);
    return { ...part, exactArgs: sha256Hex(written), writtenArgs: fits ? written : null };
  }
  if (!isMended(request, part)) return part;
  return { ...part, exactArgs: sha256Hex(textOf(request.args, request.receivedAt)) };
}

/** What is left out is known by the hash of the whole. */
function isMended({ args }: DecisionRequest, part: DecisionRequest): boolean {
  return part.args !== args && part.unread?.args === undefined;
}

function partOf(request: DecisionRequest, bodyBytes: number, unsent: readonly Part[]): DecisionRequest | null {
  if (bodyBytes <= SMALL_BODY_BYTES) return { ...request, ...contentsOf(request, unsent, undefined) };
  const question = { ...request, ...contentsOf(request, unsent, MOST_CONTENT_CHARS) };
  if (bytesOf(question) <= MOST_QUESTION_BYTES) return question;
  const leftBytes = MOST_QUESTION_BYTES - ROOM_BYTES - bytesOf({ ...request, args: undefined, result: undefined });
  if (leftBytes < 0) return null;
  const chars = Math.floor(leftBytes / 2 / MOST_CHAR_BYTES);
  return { ...request, ...contentsOf(request, unsent, Math.min(MOST_CONTENT_CHARS, chars)) };
}

function contentsOf(request: DecisionRequest, unsent: readonly Part[], mostChars: number | undefined): Contents {
  const [args, result] = (['args', 'result'] as const).map((part) => {
    const content = request[part];
    const whole: ReadablePart =
      mostChars === undefined || content === undefined
        ? readablePartOfSmall(content)
        : readablePart(content, mostChars);
    return unsent.includes(part) ? { ...whole, unread: 'too_large' as const } : whole;
  });
  return {
    args: args?.value,
    result: result?.value,
    ...(args?.unread === undefined && result?.unread === undefined
      ? {}
      : {
          unread: {
            ...standIn(request, 'args', args?.unread, unsent.includes('args')),
            ...standIn(request, 'result', result?.unread, unsent.includes('result')),
          },
        }),
  };
}

/** What has to be known again is known by its hash; what was not sent, by the call it belongs to. */
function standIn(
  request: DecisionRequest,
  part: Part,
  reason: UnreadContent['reason'] | undefined,
  isUnsent: boolean,
): NonNullable<DecisionRequest['unread']> {
  if (reason === undefined) return {};
  const known = isUnsent ? [request.callId, request[part]] : request[part];
  const sha256 = sha256Hex(textOf(known, request.receivedAt));
  return { [part]: { reason, sha256 } };
}

function bytesOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}

/**
 * Contents nested deeper than the stack are each their own: an approval of one must not cover another. Nor may an
 * infinite number stand for null.
 */
function textOf(value: unknown, receivedAt: string): string {
  try {
    return JSON.stringify(value, (_, one: unknown) =>
      typeof one === 'number' && !Number.isFinite(one) ? [String(one)] : one,
    );
  } catch {
    return timeOrderedId(Date.parse(receivedAt));
  }
}
