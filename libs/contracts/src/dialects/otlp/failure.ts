import type { JsonObject } from '../../events.ts';
import { firstText, present } from './attributes.ts';
import type { OtlpSpan } from './span.ts';

/** Some sources put a whole stack trace into the status. */
const MESSAGE_CHARS = 2_000;
const STACK_CHARS = 8_000;
const CODE_CHARS = 256;
const UNEXPLAINED = 'failed without a message';

/**
 * The error of a span that failed: payload members `error`, `errorCode`, `stackTrace`.
 * @param saysSo the span's own contents say that it failed
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
