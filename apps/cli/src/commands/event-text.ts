import type { AnswerOf } from '../api-types.ts';
import { usd } from '../output/format.ts';

/** What an event is about, in one line. */
export function eventText(event: AnswerOf<'getEvent'>): string {
  const { eventType, toolName, model, payload, usage } = event;
  const error = typeof payload.error === 'string' ? payload.error : undefined;
  const about = [toolName, model, error].filter((part) => part !== null && part !== undefined && part !== '');
  const cost = usage.costUsd === null ? '' : ` ${usd(usage.costUsd)}`;
  return `${eventType}${about.length === 0 ? '' : `  ${about.join(': ')}`}${cost}`;
}
