import { visible } from '../../../../libs/contracts/src/visible.ts';
import type { StoredEvent } from '../api/model.ts';
import { callInMessage } from '../approvals/call-in-message.ts';
import type { EventContents } from './event-contents.ts';
import type { Step } from './story.ts';
import type { Opened } from './use-opened.ts';
import type { RunEntry } from './use-run.ts';

/** Text of a payload, in any of its known forms. */
export function textOf(payload: Readonly<Record<string, unknown>>): string {
  const data =
    typeof payload.data === 'object' && payload.data !== null ? (payload.data as Record<string, unknown>) : payload;
  const said = data.content ?? data.text ?? data.message ?? data.completion ?? payload.completion;
  if (typeof said === 'string') return said;
  if (typeof said === 'object' && said !== null && 'text' in said && typeof said.text === 'string') return said.text;
  return '';
}

/** Arguments of a call, under any of their known names. */
function argsOf(event: StoredEvent | undefined): unknown {
  const payload = event?.payload;
  return payload?.arguments ?? payload?.args ?? payload?.messages;
}

/** Arguments of a step: from its event, else from its decision, else from its approval. */
export function callArgsOf({ call, result, decision, alert }: Opened): unknown {
  return (
    argsOf(call ?? result) ??
    decision?.arguments ??
    (alert === undefined ? undefined : callInMessage(alert.message).args)
  );
}

/** Entries that the text beside a step's name needs. */
export function wantedInRow(step: Step): RunEntry[] {
  if (step.entry !== undefined) return step.entry.type === 'event' ? [step.entry] : [];
  const told = step.kind === 'tool' ? [step.call ?? step.result] : [];
  if (step.state === 'failed') told.push(step.result);
  return told.filter((entry) => entry !== undefined);
}

const DETAIL_LENGTH = 90;

/** Beginning of a step's text, as far as it is loaded, safe to display. */
export function detailOf(step: Step, contents: EventContents): string {
  return visible(rawDetail(step, contents));
}

function rawDetail(step: Step, contents: EventContents): string {
  if (step.entry !== undefined) {
    const event = contents.of(step.entry);
    return event === undefined ? step.detail : textOf(event.payload);
  }
  const args = argsOf(contents.of(step.call ?? step.result)) ?? step.decision?.summary;
  if (typeof args === 'string') return args.slice(0, DETAIL_LENGTH);
  if (typeof args !== 'object' || args === null) return '';
  const values = Object.values(args).filter((value) => typeof value === 'string' || typeof value === 'number');
  return values.join(', ').slice(0, DETAIL_LENGTH);
}

/** A custom event with a text is shown like a message. */
export function isMessage(step: Step, contents: EventContents): boolean {
  return step.kind === 'message' || (step.kind === 'other' && rawDetail(step, contents) !== '');
}

const ERROR_LENGTH = 32;

/** Short reason of a failure. */
export function errorOf(step: Step, contents: EventContents): string {
  if (step.entry !== undefined) return 'error';
  if (step.result === undefined) return 'no end reported';
  const error = contents.of(step.result)?.payload.error;
  const text =
    typeof error === 'string'
      ? error
      : typeof error === 'object' && error !== null && 'message' in error
        ? String(error.message)
        : 'failed';
  return visible(text.length > ERROR_LENGTH ? `${text.slice(0, ERROR_LENGTH)}…` : text);
}
