import { resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { InvalidArgumentError } from 'commander';
import { parseDocument } from 'yaml';
import type { Host } from './context.ts';
import { CommandError, EXIT, usageError } from './errors.ts';
import { readTextFile } from './settings/profiles.ts';

/** The text of a file, or of stdin for `-`. */
export async function textOf(file: string, { folder, stdin }: Host): Promise<string> {
  if (file === '-') return text(stdin);
  const content = readTextFile(resolve(folder, file));
  if (content === undefined) throw usageError(`There is no file ${file}`);
  return content;
}

/** The one YAML or JSON document of a file, or of stdin for `-`. @throws CommandError that names file, line and column */
export async function documentOf(file: string, host: Host): Promise<unknown> {
  const source = await textOf(file, host);
  const document = parseDocument(source, { prettyErrors: true, uniqueKeys: true, version: '1.2' });
  const [problem] = document.errors;
  if (problem === undefined) return document.toJS({ maxAliasCount: 100 });
  const [at] = problem.linePos ?? [];
  const place = at === undefined ? file : `${file}:${at.line}:${at.col}`;
  const [message = ''] = problem.message.split(' at line ');
  throw new CommandError(`${place}: ${message}`, { exitCode: EXIT.usage });
}

const UNITS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

/** Reads an instant, a date, or an age like `30m`, `2h` or `7d` counted back from now. */
export function instantBefore(nowMs: () => number): (text: string) => string {
  return (text) => read(text, (lengthMs) => nowMs() - lengthMs, 'an age');
}

/** Reads an instant, a date, or a length like `12h` or `30d` counted from now on. */
export function instantFrom(nowMs: () => number): (text: string) => string {
  return (text) => read(text, (lengthMs) => nowMs() + lengthMs, 'a time from now');
}

function read(text: string, counted: (lengthMs: number) => number, kind: string): string {
  const [, amount, unit = ''] = /^(\d{1,6})([smhdw])$/.exec(text) ?? [];
  if (amount !== undefined) return new Date(counted(Number(amount) * (UNITS[unit] ?? 0))).toISOString();
  const ms = /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : Number.NaN;
  if (!Number.isNaN(ms)) return new Date(ms).toISOString();
  throw new InvalidArgumentError(`Give an instant like 2026-11-25T10:00:00Z, a date, or ${kind} like 30m, 2h, 7d.`);
}

/** A number of seconds above 0, up to an hour. */
export function seconds(text: string): number {
  const value = Number(text);
  if (Number.isFinite(value) && value > 0 && value <= 3_600) return value;
  throw new InvalidArgumentError('Give a number of seconds, like 30.');
}

/** A whole number of at least 1. */
export function count(text: string): number {
  const value = Number(text);
  if (Number.isSafeInteger(value) && value >= 1) return value;
  throw new InvalidArgumentError('Give a whole number of at least 1.');
}

/** An amount of money in USD. */
export function amount(text: string): number {
  const value = Number(text);
  if (/^\d{1,9}(\.\d{1,6})?$/.test(text)) return value;
  throw new InvalidArgumentError('Give an amount in USD, like 0.25.');
}

/** Reads one of a few words. */
export function oneOf<const Word extends string>(words: readonly Word[]): (text: string) => Word {
  return (text) => {
    const found = words.find((word) => word === text);
    if (found !== undefined) return found;
    throw new InvalidArgumentError(`Give one of ${words.join(', ')}.`);
  };
}

/** Reads several of a few words, with commas between them. */
export function someOf<const Word extends string>(words: readonly Word[]): (text: string) => Word[] {
  const one = oneOf(words);
  return (text) => text.split(',').map((word) => one(word.trim()));
}
