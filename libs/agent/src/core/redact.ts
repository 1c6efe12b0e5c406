import { redactDeep } from '@agentlens/sdk';

/** A text is cut to this before it is searched: what is stored is never longer, and no pattern sees more. */
const MOST_SEARCHED = 200_000;

/** Takes secrets and personal data out of every text inside of a value, before it is logged or stored. */
export type RedactStored = <T>(value: T) => T;

export const redactStored: RedactStored = (value) => redactDeep(capped(value));

function capped<T>(value: T): T {
  if (typeof value === 'string') {
    // The type of a text is the same text's type when it is cut.
    return (value.length > MOST_SEARCHED ? `${value.slice(0, MOST_SEARCHED)}… [cut]` : value) as T;
  }
  return value;
}
