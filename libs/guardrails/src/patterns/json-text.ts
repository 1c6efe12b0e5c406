import { type DecisionRequest, hasAtMostUnits } from '@agentlens/contracts';
import { spend } from '../decisions/step-meter.ts';

/** Text with more keys, values and lists than this is not parsed as JSON. */
const MAX_UNITS = 50_000;
const CHARACTERS_A_STEP = 8;
const LOSES_DIGITS = /[\d.]{16}|\d[eE]/;
/** A string, or a number outside of strings. */
const TOKENS = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

type Arguments = Pick<DecisionRequest, 'args' | 'writtenArgs'>;
/** Cache, because the conditions of many rules read one request. */
const readBefore = new WeakMap<object, unknown>();

/**
 * Returns the arguments of a call as rules see them: JSON text is parsed, and a number that would lose digits becomes
 * text.
 */
export function readArguments(request: Arguments): unknown {
  const { args, writtenArgs } = request;
  if (typeof args !== 'string' && typeof writtenArgs !== 'string') return args;
  if (readBefore.has(request)) return readBefore.get(request);
  const read = typeof writtenArgs === 'string' ? unpacked(JSON.parse(exactly(writtenArgs))) : unpacked(args);
  readBefore.set(request, read);
  return read;
}

/** Parses JSON text of a list or an object; returns anything else unchanged. */
export function unpacked(value: unknown): unknown {
  if (typeof value !== 'string' || !/^\s*[[{]/.test(value)) return value;
  spend(value.length / CHARACTERS_A_STEP);
  if (!hasAtMostUnits(value, MAX_UNITS)) return value;
  try {
    return JSON.parse(exactly(value));
  } catch {
    return value;
  }
}

function exactly(json: string): string {
  if (!LOSES_DIGITS.test(json)) return json;
  return json.replace(TOKENS, (token) => (token.startsWith('"') || !losesDigits(token) ? token : `"${token}"`));
}

function losesDigits(token: string): boolean {
  return token.length >= 16 || String(Number(token)) !== token;
}
