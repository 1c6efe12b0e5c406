import type { ApprovalCall, DecisionRequest } from '@agentlens/contracts';
import { redactDeep, redactJson } from '@agentlens/guardrails';

/** Of the text of a part: beside the other one and in quotes it stays below what a message may hold. */
const MOST_BYTES = 300_000;

const REASONS = {
  too_large: 'the call is larger than the platform takes in',
  unreadable: 'the call holds values that cannot be shown, such as infinite numbers or very deep nesting',
} as const;

/** What a reviewer is shown of a call: all of it, redacted, or a part and why. */
export function callOf({ args, result, phase, unread, writtenArgs }: DecisionRequest): ApprovalCall {
  const argsText = typeof writtenArgs === 'string' ? redactJson(writtenArgs) : textOf(args);
  const resultText = phase === 'tool.after' ? textOf(result) : undefined;
  const reasons = [unread?.args, resultText === undefined ? undefined : unread?.result].flatMap((part) =>
    part === undefined ? [] : [REASONS[part.reason]],
  );
  if (writtenArgs === null) reasons.push(REASONS.too_large);
  const parts = [argsText, resultText ?? ''].map((text) => text.slice(0, mostChars(text)));
  if (parts[0] !== argsText || parts[1] !== (resultText ?? '')) reasons.push(REASONS.too_large);
  return {
    arguments: parts[0] ?? '',
    ...(resultText === undefined ? {} : { result: parts[1] }),
    ...(reasons[0] === undefined ? {} : { cut: reasons[0] }),
  };
}

function textOf(value: unknown): string {
  return JSON.stringify(redactDeep(value ?? null));
}

function mostChars(text: string): number {
  const bytes = Buffer.byteLength(JSON.stringify(text));
  return bytes <= MOST_BYTES ? text.length : Math.floor((text.length * MOST_BYTES) / bytes);
}
