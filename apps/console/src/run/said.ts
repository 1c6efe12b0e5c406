import type { StoredEvent } from '../api/model.ts';
import { callInMessage } from '../approvals/call-in-message.ts';
import type { Step } from './story.ts';
import type { Opened } from './use-opened.ts';
import type { Told } from './use-run.ts';
import type { Words } from './words.ts';

/** The text a payload says, whichever way it is wrapped. */
export function textOf(payload: Readonly<Record<string, unknown>>): string {
  const data =
    typeof payload.data === 'object' && payload.data !== null ? (payload.data as Record<string, unknown>) : payload;
  const said = data.content ?? data.text ?? data.message ?? data.completion ?? payload.completion;
  if (typeof said === 'string') return said;
  if (typeof said === 'object' && said !== null && 'text' in said && typeof said.text === 'string') return said.text;
  return '';
}

/** The arguments of a call, however its client names them. */
function argsOf(event: StoredEvent | undefined): unknown {
  const payload = event?.payload;
  return payload?.arguments ?? payload?.args ?? payload?.messages;
}

/** The arguments of a step's call: as the agent told them, else as they were decided of, else as a human was asked. */
export function callArgsOf({ call, result, decision, alert }: Opened): unknown {
  return (
    argsOf(call ?? result) ??
    decision?.arguments ??
    (alert === undefined ? undefined : callInMessage(alert.message).args)
  );
}

/** What a step's row says beside its name needs these. */
export function wantedInRow(step: Step): Told[] {
  if (step.entry !== undefined) return step.entry.type === 'event' ? [step.entry] : [];
  const told = step.kind === 'tool' ? [step.call ?? step.result] : [];
  if (step.state === 'failed') told.push(step.result);
  return told.filter((entry) => entry !== undefined);
}

const DETAIL_LENGTH = 90;

/** The first words of what a step is about, as far as they are read. */
export function detailOf(step: Step, words: Words): string {
  if (step.entry !== undefined) {
    const event = words.of(step.entry);
    return event === undefined ? step.detail : textOf(event.payload);
  }
  const args = argsOf(words.of(step.call ?? step.result));
  if (typeof args === 'string') return args.slice(0, DETAIL_LENGTH);
  if (typeof args !== 'object' || args === null) return '';
  const values = Object.values(args).filter((value) => typeof value === 'string' || typeof value === 'number');
  return values.join(', ').slice(0, DETAIL_LENGTH);
}

/** An event of the client's own that says something is shown like a message. */
export function isMessage(step: Step, words: Words): boolean {
  return step.kind === 'message' || (step.kind === 'other' && detailOf(step, words) !== '');
}

const ERROR_LENGTH = 32;

/** Why it failed, in few words. */
export function errorOf(step: Step, words: Words): string {
  if (step.entry !== undefined) return 'error';
  if (step.result === undefined) return 'no end was reported';
  const error = words.of(step.result)?.payload.error;
  const text =
    typeof error === 'string'
      ? error
      : typeof error === 'object' && error !== null && 'message' in error
        ? String(error.message)
        : 'failed';
  return text.length > ERROR_LENGTH ? `${text.slice(0, ERROR_LENGTH)}…` : text;
}
