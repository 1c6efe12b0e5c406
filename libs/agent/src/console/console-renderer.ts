import picocolors from 'picocolors';
import type { AgentEvent, Lagged } from '../core/agent-event.ts';
import type { PermissionAnswer, PermissionRequest } from '../core/input-output.ts';
import { isPlainObject, type Json, parseJson } from '../core/json.ts';
import type { AgentHandle } from '../runtime/agent-handle.ts';
import { LineReader } from './line-reader.ts';

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what a terminal must not get
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g;

/** Text of models and tools as displayed: without characters that move the cursor or hide or reorder text. */
export function safeText(text: string): string {
  return text.replace(/\r\n/g, '\n').replace(CONTROL, '');
}

export interface ConsoleOptions {
  readonly input?: NodeJS.ReadableStream;
  readonly output?: NodeJS.WritableStream;
  readonly colors?: ColorScheme;
  /** Prompt for user input. Default `> `. */
  readonly prompt?: string;
  /** Ends after the first turn. Default: at the end of the input. */
  readonly once?: boolean;
  readonly showThinking?: boolean;
}

const MAX_RESULT_CHARS = 500;

/**
 * A terminal for one agent: shows its output, asks its permission requests and sends typed lines. A reader of its
 * events.
 */
export class ConsoleRenderer {
  readonly #handle: AgentHandle;
  readonly #output: NodeJS.WritableStream;
  readonly #colors: ColorScheme;
  readonly #lines: LineReader;
  readonly #options: ConsoleOptions;
  #atLineStart = true;
  #streamed = false;
  #turnOver = Promise.withResolvers<void>();

  constructor(handle: AgentHandle, options: ConsoleOptions = {}) {
    this.#handle = handle;
    this.#options = options;
    this.#output = options.output ?? process.stdout;
    const terminal = 'isTTY' in this.#output && this.#output.isTTY === true;
    this.#colors = options.colors ?? colorScheme(terminal && process.env.NO_COLOR === undefined);
    this.#lines = new LineReader(options.input ?? process.stdin, this.#output, () => handle.interrupt());
  }

  /** Runs until the input or the agent ends. A first input may already have been sent. */
  async run(): Promise<void> {
    const subscription = this.#handle.subscribe({ from: 'start' });
    const reading = this.#readInput();
    try {
      for await (const event of subscription) {
        await this.#show(event);
        if (event.type !== 'done' && event.type !== 'error') continue;
        this.#turnOver.resolve();
        if (this.#options.once === true) break;
      }
    } finally {
      await subscription.return();
      this.#lines.close();
      this.#turnOver.resolve();
      await reading;
    }
  }

  /** Between turns every line is input; during a turn it steers. */
  async #readInput(): Promise<void> {
    for (;;) {
      const line = await this.#lines.next(this.#options.prompt ?? '> ');
      if (line === null) break;
      if (line.trim() === '') continue;
      this.#atLineStart = true;
      this.#turnOver = Promise.withResolvers();
      this.#handle.sendInput(line, { steer: this.#handle.state.kind !== 'idle' });
      // Without a terminal, lines are answers or the next turn's input, never steering.
      if (!this.#lines.isTerminal) await this.#turnOver.promise;
    }
    if (this.#options.once !== true) await this.#handle.shutdown();
  }

  async #show(event: AgentEvent | Lagged): Promise<void> {
    const { text, thinking, tool, error, note } = this.#colors;
    switch (event.type) {
      case 'text-delta':
        this.#streamed = true;
        this.#write(text(safeText(event.text)));
        break;
      case 'text-complete':
        if (!this.#streamed) this.#write(text(safeText(event.text)));
        this.#streamed = false;
        this.#line('');
        break;
      case 'thinking-delta':
        if (this.#options.showThinking === true) this.#write(thinking(safeText(event.text)));
        break;
      case 'tool-start':
        this.#line(tool(`● ${event.name} ${safeText(JSON.stringify(event.input)).slice(0, 200)}`));
        break;
      case 'tool-end':
        this.#line((event.isError ? error : note)(`  ${safeText(shortOf(event.result.output))}`));
        break;
      case 'permission-request':
        await this.#ask(event);
        break;
      case 'subagent-output':
        await this.#showChild(event.chunk);
        break;
      case 'retry':
        this.#streamed = false;
        this.#line(note(`(${event.what} failed, attempt ${event.attempt}: trying again)`));
        break;
      case 'error':
        this.#line(error(`${event.error.code}: ${safeText(event.error.message)}`));
        break;
      case 'lagged':
        this.#line(note(`(${event.missed} events were missed)`));
        break;
      default:
    }
  }

  async #showChild(event: AgentEvent): Promise<void> {
    if (event.type === 'permission-request') await this.#ask(event);
    else if (event.type === 'tool-start') this.#line(this.#colors.note(`  ↳ ${event.name}`));
  }

  async #ask(request: PermissionRequest): Promise<void> {
    this.#line(this.#colors.question(`? ${request.toolName}: ${safeText(request.action)}`));
    if (request.details !== undefined) this.#line(safeText(request.details));
    const answer = await askUser(request, (question) => this.#lines.ask(question));
    // The request may already be answered, or the turn may have ended.
    if (this.#handle.state.kind === 'waiting-for-permission') this.#handle.respondToPermission(answer);
  }

  #line(text: string): void {
    if (!this.#atLineStart) this.#output.write('\n');
    this.#atLineStart = true;
    if (text !== '') this.#output.write(`${text}\n`);
  }

  #write(text: string): void {
    this.#output.write(text);
    this.#atLineStart = text.endsWith('\n');
  }
}

function shortOf(output: unknown): string {
  const shown = isPlainObject(output) && typeof output.error === 'string' ? output.error : output;
  const text = typeof shown === 'string' ? shown : JSON.stringify(shown);
  return text.length > MAX_RESULT_CHARS ? `${text.slice(0, MAX_RESULT_CHARS)}…` : text;
}

export type Paint = (text: string) => string;

export interface ColorScheme {
  readonly text: Paint;
  readonly thinking: Paint;
  readonly tool: Paint;
  readonly error: Paint;
  readonly question: Paint;
  readonly note: Paint;
}

/** Terminal colours, or none. */
export function colorScheme(enabled: boolean): ColorScheme {
  const { cyan, dim, green, italic, red, yellow } = picocolors.createColors(enabled);
  return {
    text: (text) => text,
    thinking: (text) => dim(italic(text)),
    tool: cyan,
    error: red,
    question: yellow,
    note: (text) => dim(green(text)),
  };
}

export type AskLine = (question: string) => Promise<string | null>;

/** Reads a human's answer to one request. Unclear answers are asked again; the end of the input counts as no. */
export async function askUser(request: PermissionRequest, ask: AskLine): Promise<PermissionAnswer> {
  const { requestId, inputHash } = request;
  for (;;) {
    const line = await ask('Allow? [y]es, [n]o, [s]ession, [a]lways, [e]dit: ');
    const word = line?.trim().toLowerCase();
    if (line === null || word === 'n' || word === 'no') return { requestId, inputHash, decision: 'deny' };
    if (word === 'y' || word === 'yes') return { requestId, inputHash, decision: 'allow' };
    if (word === 's') return { requestId, inputHash, decision: 'allow', remember: 'session' };
    if (word === 'a') return { requestId, inputHash, decision: 'allow', remember: 'always' };
    if (word !== 'e') continue;
    const edited = parseJson((await ask('The whole input as JSON: ')) ?? '');
    // Parsed from JSON; the tool's schema checks the rest.
    if (edited !== undefined) return { requestId, inputHash, decision: 'allow', editedInput: edited as Json };
  }
}
