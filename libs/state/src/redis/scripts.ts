import { readFileSync } from 'node:fs';

/** Beside `src` and `dist`, so that both find it. */
const FOLDER = new URL('../../lua/', import.meta.url);

/** Which commands there are. The script of each is the file of that name: `takeTokens` is lua/take-tokens.lua. */
const COMMANDS = [
  'advanceWindows',
  'readWindows',
  'endRecount',
  'takeTokens',
  'rememberContents',
  'claimCooldown',
  'rearmCooldowns',
  'enterCall',
  'settleCall',
  'completeCall',
  'readCalls',
  'readBreakers',
  'writeBreakers',
  'breakerRecorded',
  'reserveBudget',
  'readBalances',
  'spendBudget',
  'tallyEvaluated',
] as const;

type Arguments = readonly (string | number)[];
type Command = (...call: Arguments) => Promise<unknown>;

/** Scripts as commands: number of keys, keys, arguments. */
export type Scripts = Readonly<Record<(typeof COMMANDS)[number], Command>>;

/** The same where the reply is not text. */
export type BinaryScripts = Readonly<Record<'advanceWindowsBuffer' | 'readWindowsBuffer', Command>>;

/** Reads every script once. A line `--- @include "cells"` stands for the whole of lua/cells.lua. */
export function readScripts(): Record<keyof Scripts, string> {
  const files = new Map<string, string>();
  const read = (name: string): string => {
    const text = files.get(name) ?? readFileSync(new URL(`${name}.lua`, FOLDER), 'utf8');
    files.set(name, text);
    return text.replace(/^--- @include "([a-z-]+)"$/gm, (_, included: string) => read(included));
  };
  const scripts = COMMANDS.map((command) => [command, read(fileOf(command))]);
  return Object.fromEntries(scripts) as Record<keyof Scripts, string>;
}

const fileOf = (command: string) => command.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
