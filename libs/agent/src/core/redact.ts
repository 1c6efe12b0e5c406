import { redactDeep } from '@agentlens/sdk';

/** A text is truncated to this before it is searched; stored texts are never longer. */
const MAX_SEARCHED_CHARS = 200_000;

/** Removes secrets and personal data from every text inside a value before it is logged or stored. */
export type RedactStored = <T>(value: T) => T;

export const redactStored: RedactStored = (value) => redactDeep(capped(value));

function capped<T>(value: T): T {
  if (typeof value === 'string') {
    // A truncated text is still a text.
    return (value.length > MAX_SEARCHED_CHARS ? `${value.slice(0, MAX_SEARCHED_CHARS)}… [cut]` : value) as T;
  }
  return value;
}
