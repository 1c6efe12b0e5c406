import { inColour, type Paint, withoutColour } from './style.ts';
import { type Cell, type Column, details, type Layout, table } from './table.ts';

/** The part of a writable stream that is used. */
export interface TextSink {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

export interface OutputOptions {
  readonly stdout: TextSink;
  readonly stderr: TextSink;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Asked at each use: options are known only once the command line is read. */
  readonly json: () => boolean;
}

/** What a command prints: its data goes to stdout, everything else to stderr. */
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

  /** The answer of a command: as JSON, or as `text` for people. */
  print(value: unknown, text: () => string): void {
    this.#write(this.json ? JSON.stringify(value, null, 2) : text());
  }

  /** A list; where it is empty, people get `none` on stderr. */
  printTable<Row>(rows: readonly Row[], columns: readonly Column<Row>[], none: string): void {
    if (rows.length === 0 && !this.json) this.note(none);
    else this.print(rows, () => table(rows, columns, this.layout));
  }

  /** One object, by its members. */
  printDetails(value: unknown, members: readonly (readonly [string, Cell])[]): void {
    this.print(value, () => details(members, this.paint));
  }

  /** One item of a stream: a line of JSON, or a line for people. */
  printItem(value: unknown, line: () => string): void {
    this.#write(this.json ? JSON.stringify(value) : line());
  }

  /** Something people should know that is not the data. */
  note(text: string): void {
    this.#options.stderr.write(`${text}\n`);
  }

  /** A line that replaces itself, on a terminal; `undefined` removes it. @returns whether there is a terminal */
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
