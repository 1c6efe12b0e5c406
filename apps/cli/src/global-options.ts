import type { Command } from 'commander';
import { seconds } from './parse/numbers.ts';

/** The options every command takes, as they are read. */
export interface GlobalOptions {
  readonly json?: boolean;
  readonly url?: string;
  readonly profile?: string;
  readonly timeout: number;
  readonly input: boolean;
  readonly yes?: boolean;
}

export function addGlobalOptions(command: Command): Command {
  return command
    .option('--json', 'print JSON, and a line of JSON for each item of a stream')
    .option('--url <address>', 'where the platform answers')
    .option('--profile <name>', 'use this profile')
    .option('--timeout <seconds>', 'how long to wait for an answer', seconds, 10)
    .option('--no-input', 'never ask; fail where an answer is needed')
    .option('-y, --yes', 'agree to what would be asked');
}
