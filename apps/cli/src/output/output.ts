import { inColour, type Paint, withoutColour } from './style.ts';
import { type Cell, type Column, details, type Layout, table } from './table.ts';

/** The subset of a writable stream that is used. */
export interface TextSink {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

interface OutputOptions {
  readonly stdout: TextSink;
  readonly stderr: TextSink;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** A function, because options are parsed after construction. */
  readonly json: () => boolean;
}

/** Output of a command: data goes to stdout, everything else to stderr. */
export class Output {
  readonly #options: OutputOptions;

  constructor(options: OutputOptions) {
    this.#options = options;
  }

  get json(): boolean {
    return this.#options.json();
  }

  get layout(): Layout {
    const { stdout } = this.#options;
    return { paint: this.#paintFor(stdout), width: stdout.isTTY === true ? stdout.columns : undefined };
  }

  get paint(): Paint {
    return this.layout.paint;
  }

  /** Prints a response as JSON, or as `text` for people. */
  print(value: unknown, text: () => string): void {
    this.#write(this.json ? JSON.stringify(value, null, 2) : text());
  }

  /** Prints a list; for an empty list, people see `none` on stderr. */
  printTable<Row>(rows: readonly Row[], columns: readonly Column<Row>[], none: string): void {
    if (rows.length === 0 && !this.json) this.note(none);
    else this.print(rows, () => table(rows, columns, this.layout));
  }

  /** Prints the members of one object. */
  printDetails(value: unknown, members: readonly (readonly [string, Cell])[]): void {
    this.print(value, () => details(members, this.paint));
  }

  /** Prints one item of a stream, as a JSON line or a text line. */
  printItem(value: unknown, line: () => string): void {
    this.#write(this.json ? JSON.stringify(value) : line());
  }

  /** Prints a message that is not data. */
  note(text: string): void {
    this.#options.stderr.write(`${text}\n`);
  }

  /**
   * Prints a status line that replaces itself on a terminal; `undefined` clears it. @returns false without a terminal
   */
  status(text: string | undefined): boolean {
    const { stderr } = this.#options;
    if (stderr.isTTY !== true) return false;
    stderr.write(text === undefined ? '\r\u001b[2K' : `\r\u001b[2K${this.#paintFor(stderr)('quiet', text)}`);
    return true;
  }

  #write(text: string): void {
    this.#options.stdout.write(`${text}\n`);
  }

  #paintFor(sink: TextSink): Paint {
    const { NO_COLOR, TERM } = this.#options.env;
    const isPlain = sink.isTTY !== true || (NO_COLOR !== undefined && NO_COLOR !== '') || TERM === 'dumb';
    return isPlain ? withoutColour : inColour;
  }
}

const QUIET_MS = 1_000;
const TICK_MS = 250;

/** Shows `label` on stderr if the work takes longer than a second. `label` may change while it runs. */
export async function withProgress<T>(output: Output, label: string | (() => string), work: Promise<T>): Promise<T> {
  const text = typeof label === 'string' ? () => label : label;
  const startedMs = performance.now();
  let shown = false;
  const timer = setInterval(() => {
    const elapsedMs = performance.now() - startedMs;
    if (elapsedMs < QUIET_MS) return;
    const isTerminal = output.status(`${text()} (${Math.floor(elapsedMs / 1_000)} s)`);
    if (!isTerminal && !shown) output.note(`${text()} …`);
    shown = true;
  }, TICK_MS);
  try {
    return await work;
  } finally {
    clearInterval(timer);
    if (shown) output.status(undefined);
  }
}
