import { spawn } from 'node:child_process';
import { createReadStream, createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { CommandError, EXIT } from '../../errors.ts';

/** Of the last lines that a program wrote to its standard error, so many characters are shown. */
const MAX_SAID_CHARS = 2_000;

export interface ProgramOptions {
  readonly folder: string;
  /** Aborts when the user presses Ctrl-C. */
  readonly signal: AbortSignal;
  /** What the program reads: a text, a file, or a text followed by a file. */
  readonly text?: string;
  readonly fromFile?: string;
  /** Writes the output to this file instead of returning it. */
  readonly toFile?: string;
}

/** Runs a program and returns its output. @throws CommandError with what it said, unless it exits with 0 */
export async function runProgram([program = '', ...args]: readonly string[], options: ProgramOptions): Promise<string> {
  const { folder, signal, text, fromFile, toFile } = options;
  const child = spawn(program, args, { cwd: folder, stdio: ['pipe', 'pipe', 'pipe'], signal });
  let said = '';
  child.stderr.on('data', (part: Buffer) => {
    said = `${said}${part.toString()}`.slice(-MAX_SAID_CHARS);
  });
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', (error) => reject(notStarted(program, error)));
    child.once('close', resolve);
  });
  const [output, , status] = await Promise.all([
    toFile === undefined
      ? readText(child.stdout)
      : pipeline(child.stdout, createWriteStream(toFile, { mode: 0o600 })).then(() => ''),
    sendInput(child.stdin, { text, fromFile }),
    ended,
  ]);
  if (status === 0) return output;
  throw new CommandError(`${program} ${args.slice(0, 4).join(' ')} ... failed`, { details: said.trim().split('\n') });
}

async function readText(from: NodeJS.ReadableStream): Promise<string> {
  let text = '';
  for await (const part of from) text += part.toString();
  return text;
}

async function sendInput(
  to: NodeJS.WritableStream,
  { text, fromFile }: Pick<ProgramOptions, 'text' | 'fromFile'>,
): Promise<void> {
  try {
    if (text !== undefined) to.write(text);
    if (fromFile === undefined) to.end();
    else await pipeline(createReadStream(fromFile), to);
  } catch (error) {
    // A program that ends without reading everything has failed, and its exit code says so.
    if (!isBrokenPipe(error)) throw error;
  }
}

function isBrokenPipe(error: unknown): boolean {
  return (
    error instanceof Error && 'code' in error && (error.code === 'EPIPE' || error.code === 'ERR_STREAM_PREMATURE_CLOSE')
  );
}

function notStarted(program: string, error: Error): CommandError {
  return new CommandError(`${program} cannot be started: ${error.message}`, {
    exitCode: EXIT.unreachable,
    hint: `Install ${program}, or run this where it is installed`,
  });
}
