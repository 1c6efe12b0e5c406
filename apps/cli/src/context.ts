import type { Client } from '@agentlens/client';
import type { Command as TypedCommand } from '@commander-js/extra-typings';
import type { Command } from 'commander';
import { usageError } from './errors.ts';
import { Output, type TextSink } from './output/output.ts';
import { seconds } from './parse.ts';
import { chooseKey, clientWith, type PlatformClientOptions } from './platform-client.ts';
import { Prompt, type PromptInput } from './prompt.ts';
import { type Connection, findConnection, localKeys, readProjectFile } from './settings/connection.ts';
import { type Env, ProfileStore } from './settings/profiles.ts';

/** Options of every command, as parsed. */
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
    .option('--json', 'print JSON; for streams, one JSON line per item')
    .option('--url <address>', 'address of the platform')
    .option('--profile <name>', 'profile to use')
    .option('--timeout <seconds>', 'request timeout', seconds, 10)
    .option('--no-input', 'never prompt; fail if input is required')
    .option('-y, --yes', 'answer yes to confirmations');
}

/** The process environment of a command. */
export interface Host {
  readonly stdin: PromptInput;
  readonly stdout: TextSink;
  readonly stderr: TextSink;
  readonly env: Env;
  readonly folder: string;
  readonly fetch: typeof globalThis.fetch;
  readonly nowMs: () => number;
  /** Aborts when the user presses Ctrl-C. */
  readonly signal: AbortSignal;
  readonly version: string;
}

/** Everything a command needs. Options are parsed before any of it is used. */
export class CommandContext {
  readonly host: Host;
  readonly output: Output;
  readonly profiles: ProfileStore;
  readonly #options: () => GlobalOptions;

  constructor(host: Host, options: () => GlobalOptions) {
    this.host = host;
    this.#options = options;
    const { stdout, stderr, env } = host;
    this.output = new Output({ stdout, stderr, env, json: () => options().json === true });
    this.profiles = new ProfileStore(env);
  }

  get options(): GlobalOptions {
    return this.#options();
  }

  /** The address and keys to use. */
  connection(): Connection {
    const { folder, env } = this.host;
    return findConnection({
      flags: this.options,
      env,
      projectProfile: readProjectFile(folder).profile,
      profiles: this.profiles.read(),
      localKeys: () => localKeys(folder, env),
    });
  }

  clientOptions(connection: Connection): PlatformClientOptions {
    const { fetch, signal, version } = this.host;
    const userAgent = `agentlens-cli/${version}`;
    const onStreamLost = ({ message }: Error) => this.output.note(`${message}. Trying again.`);
    return { connection, fetch, signal, userAgent, onStreamLost, timeoutMs: this.options.timeout * 1_000 };
  }

  /**
   * Creates a client whose calls end with `signal`, by default at Ctrl-C.
   *
   * @throws CommandError if no key is known
   */
  async connect(signal: AbortSignal = this.host.signal): Promise<Client> {
    const options = { ...this.clientOptions(this.connection()), signal };
    return clientWith(await chooseKey(options), options);
  }

  /** Null without a terminal or with --no-input. */
  get prompt(): Prompt | null {
    const { stdin, stderr, signal } = this.host;
    const canAsk = this.options.input && stdin.isTTY === true && stderr.isTTY === true;
    return canAsk ? new Prompt(stdin, stderr, signal) : null;
  }

  /** @throws CommandError unless the user confirms or passed --yes */
  async confirm(question: string): Promise<void> {
    if (this.options.yes === true) return;
    const prompt = this.#promptOrRefuse(question);
    if (!/^y(es)?$/i.test(await prompt.ask(`${question} [y/N] `))) throw usageError('Cancelled.');
  }

  /** @throws CommandError unless the user types the name of the object or passed --yes */
  async confirmByName(question: string, name: string): Promise<void> {
    if (this.options.yes === true) return;
    const prompt = this.#promptOrRefuse(question);
    const typed = await prompt.ask(`${question} Type its name, ${JSON.stringify(name)}, to continue:`);
    if (typed !== name) throw usageError('Cancelled: the name does not match.');
  }

  #promptOrRefuse(question: string): Prompt {
    const { prompt } = this;
    if (prompt !== null) return prompt;
    throw usageError(`${question} Cannot prompt here.`, 'Use --yes to confirm.');
  }
}

/** The response type of an operation. */
export type AnswerOf<Id extends keyof Client> = Awaited<ReturnType<Client[Id]>>;

export type RuleAnswer = AnswerOf<'getRule'>;
export type RunAnswer = AnswerOf<'listRuns'>['runs'][number];
export type AlertAnswer = AnswerOf<'getAlert'>;
export type DecisionAnswer = AnswerOf<'listDecisions'>['decisions'][number];
export type KeyAnswer = AnswerOf<'listKeys'>['keys'][number];

/** Declares the arguments and options of a command, and its action. */
export type DefineCommand = (command: TypedCommand, context: CommandContext) => void;

/** A command whose module is loaded only when the command runs, so that starting the CLI stays fast. */
export interface LazyCommand {
  readonly summary: string;
  /** Not shown in the help: for programs. */
  readonly hidden?: true;
  readonly load: () => Promise<DefineCommand>;
}

interface CommandGroup {
  readonly summary: string;
  readonly alias?: string;
  /** The command that runs if none is named. */
  readonly usual?: string;
  readonly commands: Readonly<Record<string, LazyCommand>>;
}

export type CommandTree = Readonly<Record<string, LazyCommand | CommandGroup>>;
