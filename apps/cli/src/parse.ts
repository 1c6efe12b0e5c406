import { resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { InvalidArgumentError } from 'commander';
import { parseDocument } from 'yaml';
import { CommandError, EXIT, usageError } from './errors.ts';
import type { PromptInput } from './prompt.ts';
import { readTextFile } from './settings/profiles.ts';

/** Where a file argument is read from. */
interface Input {
  readonly folder: string;
  readonly stdin: PromptInput;
}

/** Reads a file, or stdin for `-`. */
export async function textOf(file: string, { folder, stdin }: Input): Promise<string> {
  if (file === '-') return text(stdin);
  const content = readTextFile(resolve(folder, file));
  if (content === undefined) throw usageError(`File not found: ${file}`);
  return content;
}

/**
 * Parses one YAML or JSON document from a file, or from stdin for `-`. @throws CommandError with file, line and column
 */
export async function documentOf(file: string, input: Input): Promise<unknown> {
  const source = await textOf(file, input);
  const document = parseDocument(source, { prettyErrors: true, uniqueKeys: true, version: '1.2' });
  const [problem] = document.errors;
  if (problem === undefined) return document.toJS({ maxAliasCount: 100 });
  const [at] = problem.linePos ?? [];
  const place = at === undefined ? file : `${file}:${at.line}:${at.col}`;
  const [message = ''] = problem.message.split(' at line ');
  throw new CommandError(`${place}: ${message}`, { exitCode: EXIT.usage });
}

const UNITS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

/** Parses an instant, a date, or an age such as `30m`, `2h` or `7d` before now. */
export function instantBefore(nowMs: () => number): (text: string) => string {
  return (text) => read(text, (lengthMs) => nowMs() - lengthMs, 'an age');
}

/** Parses an instant, a date, or a duration such as `12h` or `30d` from now. */
export function instantFrom(nowMs: () => number): (text: string) => string {
  return (text) => read(text, (lengthMs) => nowMs() + lengthMs, 'a time from now');
}

function read(text: string, counted: (lengthMs: number) => number, kind: string): string {
  const [, amount, unit = ''] = /^(\d{1,6})([smhdw])$/.exec(text) ?? [];
  if (amount !== undefined) return new Date(counted(Number(amount) * (UNITS[unit] ?? 0))).toISOString();
  const ms = /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : Number.NaN;
  if (!Number.isNaN(ms)) return new Date(ms).toISOString();
  throw new InvalidArgumentError(
    `Must be an instant such as 2026-11-25T10:00:00Z, a date, or ${kind} like 30m, 2h, 7d.`,
  );
}

/** Parses a number of seconds above 0, up to an hour. */
export function seconds(text: string): number {
  const value = Number(text);
  if (Number.isFinite(value) && value > 0 && value <= 3_600) return value;
  throw new InvalidArgumentError('Must be a number of seconds, such as 30.');
}

/** Parses an integer of at least 1. */
export function count(text: string): number {
  const value = Number(text);
  if (Number.isSafeInteger(value) && value >= 1) return value;
  throw new InvalidArgumentError('Must be an integer of at least 1.');
}

/** Parses an amount in USD. */
export function amount(text: string): number {
  const value = Number(text);
  if (/^\d{1,9}(\.\d{1,6})?$/.test(text)) return value;
  throw new InvalidArgumentError('Must be an amount in USD, such as 0.25.');
}

/** Parses one of the given words. */
export function oneOf<const Word extends string>(words: readonly Word[]): (text: string) => Word {
  return (text) => {
    const found = words.find((word) => word === text);
    if (found !== undefined) return found;
    throw new InvalidArgumentError(`Must be one of ${words.join(', ')}.`);
  };
}

/** Parses a comma-separated list of the given words. */
export function someOf<const Word extends string>(words: readonly Word[]): (text: string) => Word[] {
  const one = oneOf(words);
  return (text) => text.split(',').map((word) => one(word.trim()));
}
