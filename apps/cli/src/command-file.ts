import type { Command } from '@commander-js/extra-typings';
import type { CommandContext } from './context.ts';

/** One file below `commands/`: it declares the arguments and options of its command, and what the command does. */
export interface CommandFile {
  define(command: Command, context: CommandContext): void;
}

/** A command whose file is loaded only when the command is used: a start must not read what it does not need. */
export interface LazyCommand {
  readonly summary: string;
  /** For programs: not shown to people. */
  readonly hidden?: true;
  readonly load: () => Promise<CommandFile>;
}

export interface CommandGroup {
  readonly summary: string;
  readonly alias?: string;
  /** The command that is meant where none is named. */
  readonly usual?: string;
  readonly commands: Readonly<Record<string, LazyCommand>>;
}

export type CommandTree = Readonly<Record<string, LazyCommand | CommandGroup>>;
