import { RE2JS } from 're2js';
import { spend } from '../decisions/step-meter.ts';

/** Maximum pattern length in characters. */
const MAX_PATTERN = 256;
/** Maximum size of the compiled program: counted repetitions multiply, and a scan costs size times text length. */
const MAX_PROGRAM = 2_000;

/** A regular expression in RE2 syntax, matched in linear time. */
export interface Pattern {
  /** Returns true if any part of `text` matches. @throws StepsSpent if the rule exceeds its step budget */
  found(text: string): boolean;
}

/** @throws if the pattern is too large or not RE2 syntax (no look-around, no back references); the message says why */
export function compilePattern(source: string): Pattern {
  if (source.length > MAX_PATTERN) throw new Error(`is longer than ${MAX_PATTERN} characters`);
  const compiled = RE2JS.compile(source);
  const size = compiled.programSize();
  if (size > MAX_PROGRAM) throw new Error('repeats too much, use smaller counts');
  return {
    found(text) {
      // In the worst case each instruction is tried on each character.
      spend(size * text.length);
      return compiled.matcher(text).find();
    },
  };
}

/** Returns why a pattern is invalid, or null if it is valid. */
export function patternProblem(source: string): string | null {
  try {
    compilePattern(source);
    return null;
  } catch (error) {
    return `is not a regular expression in RE2 syntax: ${error instanceof Error ? error.message : 'unreadable'}`;
  }
}
