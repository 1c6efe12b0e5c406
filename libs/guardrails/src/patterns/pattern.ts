import { RE2JS } from 're2js';
import { spend } from '../decisions/step-meter.ts';

/** Longest pattern a rule may hold, in characters. */
const MAX_PATTERN = 256;
/** Largest compiled program: counted repetitions multiply, and a scan costs its size times the length of the text. */
const MAX_PROGRAM = 2_000;

/** A regular expression in RE2 syntax, matched in time linear in the text, whatever the pattern. */
export interface Pattern {
  /** True if any part of `text` matches. @throws StepsSpent if a rule asks and may not spend that much */
  found(text: string): boolean;
}

/** @throws with the reason where it is not RE2 syntax (look-around and back references are not), or is too large */
export function compilePattern(source: string): Pattern {
  if (source.length > MAX_PATTERN) throw new Error(`is longer than ${MAX_PATTERN} characters`);
  const compiled = RE2JS.compile(source);
  const size = compiled.programSize();
  if (size > MAX_PROGRAM) throw new Error('repeats too much, use smaller counts');
  return {
    found(text) {
      // Each instruction may be tried on each character.
      spend(size * text.length);
      return compiled.matcher(text).find();
    },
  };
}

/** Why a text is no pattern; null: it is one. */
export function patternProblem(source: string): string | null {
  try {
    compilePattern(source);
    return null;
  } catch (error) {
    return `is not a regular expression in RE2 syntax: ${error instanceof Error ? error.message : 'unreadable'}`;
  }
}
