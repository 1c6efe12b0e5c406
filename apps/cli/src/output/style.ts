import { styleText } from 'node:util';

/** Colours by meaning. */
export type Tone = 'good' | 'warning' | 'bad' | 'quiet' | 'strong';

const FORMATS = { good: 'green', warning: 'yellow', bad: 'red', quiet: 'dim', strong: 'bold' } as const;

/** Applies a tone to `text`, or returns it unchanged if colours are off. */
export type Paint = (tone: Tone | undefined, text: string) => string;

export const inColour: Paint = (tone, text) =>
  tone === undefined ? text : styleText(FORMATS[tone], text, { validateStream: false });
export const withoutColour: Paint = (_tone, text) => text;

const TONES: Readonly<Record<string, Tone>> = {
  ...{ succeeded: 'good', success: 'good', approved: 'good', closed: 'good', allow: 'good', ALLOW: 'good' },
  ...{ pending: 'warning', paused: 'warning', retrying: 'warning', half_open: 'warning', warn: 'warning' },
  ...{ failed: 'bad', denied: 'bad', killed: 'bad', open: 'bad', error: 'bad', critical: 'bad', lost: 'bad' },
  ...{ BLOCK: 'bad', block: 'bad', terminate: 'bad', timed_out: 'bad', revoked: 'bad' },
  ...{ expired: 'quiet', cancelled: 'quiet', interrupted: 'quiet', off: 'quiet', shadow: 'quiet', no: 'quiet' },
};

/** Tone of a status word. */
export function toneOf(word: string): Tone | undefined {
  return TONES[word];
}
