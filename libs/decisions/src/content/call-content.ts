import { type DecisionRequest, sha256Hex, timeOrderedId, type UnreadContent } from '@agentlens/contracts';
import { type ReadablePart, readablePart, readablePartOfSmall } from './readable-part.ts';

const MAX_CONTENT_CHARS = 250_000;
/** Leaves room below the broker's 1 MiB. */
const MAX_QUESTION_BYTES = 900_000;
/** Smaller bodies need no measuring. */
const SMALL_BODY_BYTES = 200_000;
/** Size of one JSON character in UTF-8. */
const MAX_CHAR_BYTES = 3;
/** Room for what replaces the contents: reasons and hashes. */
const ROOM_BYTES = 1_000;

type Part = 'args' | 'result';
type Contents = Pick<DecisionRequest, Part | 'unread'>;

/**
 * Returns the question in a form that fits a message to the evaluator. Arguments of a call come from a model and may be
 * anything: content that cannot be judged is left out and marked, so that rules on it are undecided. That is never a
 * reason to reject the question, because the client would continue without a decision. The caller and the tool are
 * never left out; null if they alone are too large.
 *
 * @param unsent parts that the client did not send completely
 * @param written the arguments as written in the body, if different arguments would parse to the same value
 */
export function transportable(
  request: DecisionRequest,
  bodyBytes: number,
  unsent: readonly Part[] = [],
  written?: string,
): DecisionRequest | null {
  const part = fitPart(request, bodyBytes, unsent);
  if (part === null) return null;
  if (written !== undefined) {
    const whole = part.unread?.args === undefined;
    const fits =
      whole && (bodyBytes <= SMALL_BODY_BYTES || measureBytes(part) + measureBytes(written) <= MAX_QUESTION_BYTES);
    return { ...part, exactArgs: sha256Hex(written), writtenArgs: fits ? written : null };
  }
  if (!isRepaired(request, part)) return part;
  return { ...part, exactArgs: sha256Hex(writeText(request.args, request.receivedAt)) };
}

/** Parts that are left out are identified by the hash of the whole. */
function isRepaired({ args }: DecisionRequest, part: DecisionRequest): boolean {
  return part.args !== args && part.unread?.args === undefined;
}

function fitPart(request: DecisionRequest, bodyBytes: number, unsent: readonly Part[]): DecisionRequest | null {
  if (bodyBytes <= SMALL_BODY_BYTES) return { ...request, ...readContents(request, unsent, undefined) };
  const question = { ...request, ...readContents(request, unsent, MAX_CONTENT_CHARS) };
  if (measureBytes(question) <= MAX_QUESTION_BYTES) return question;
  const leftBytes = MAX_QUESTION_BYTES - ROOM_BYTES - measureBytes({ ...request, args: undefined, result: undefined });
  if (leftBytes < 0) return null;
  const chars = Math.floor(leftBytes / 2 / MAX_CHAR_BYTES);
  return { ...request, ...readContents(request, unsent, Math.min(MAX_CONTENT_CHARS, chars)) };
}

function readContents(request: DecisionRequest, unsent: readonly Part[], maxChars: number | undefined): Contents {
  const [args, result] = (['args', 'result'] as const).map((part) => {
    const content = request[part];
    const whole: ReadablePart =
      maxChars === undefined || content === undefined ? readablePartOfSmall(content) : readablePart(content, maxChars);
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

/** Identifies content by its hash, and content that was not sent by its call. */
function standIn(
  request: DecisionRequest,
  part: Part,
  reason: UnreadContent['reason'] | undefined,
  isUnsent: boolean,
): NonNullable<DecisionRequest['unread']> {
  if (reason === undefined) return {};
  const known = isUnsent ? [request.callId, request[part]] : request[part];
  const sha256 = sha256Hex(writeText(known, request.receivedAt));
  return { [part]: { reason, sha256 } };
}

function measureBytes(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}

/**
 * Content nested deeper than the stack allows gets a unique text, because an approval of one must not cover another. An
 * infinite number must not be equal to null either.
 */
function writeText(value: unknown, receivedAt: string): string {
  try {
    return JSON.stringify(value, (_, one: unknown) =>
      typeof one === 'number' && !Number.isFinite(one) ? [String(one)] : one,
    );
  } catch {
    return timeOrderedId(Date.parse(receivedAt));
  }
}
