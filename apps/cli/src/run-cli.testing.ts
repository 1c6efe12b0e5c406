import { PassThrough } from 'node:stream';
import type { Host } from './context.ts';
import { run } from './program.ts';
import type { PromptInput } from './prompt.ts';

/** One request sent by a command. */
export interface SentRequest {
  readonly method: string;
  /** Includes the query: `/api/runs?limit=50`. */
  readonly path: string;
  readonly headers: Headers;
  readonly body: unknown;
}

export interface CliRun {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly requests: readonly SentRequest[];
}

export interface CliSurroundings {
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin?: string;
  readonly folder?: string;
  /** Width of the terminal on stdout; omit it for a pipe. */
  readonly terminal?: number;
  /** Ends the command, as Ctrl-C does. */
  readonly signal?: AbortSignal;
  /** Called with each text written to stdout. */
  readonly onStdout?: (text: string) => void;
  /** Returns the response to a request: a body or a whole response. */
  readonly answer?: (request: SentRequest) => unknown;
}

/** Runs one command line in this process, with the given responses. */
export async function runCli(words: readonly string[], surroundings: CliSurroundings = {}): Promise<CliRun> {
  const { env = {}, stdin = '', folder = '/nowhere', terminal, onStdout, answer = () => ({}) } = surroundings;
  const { signal = new AbortController().signal } = surroundings;
  const requests: SentRequest[] = [];
  const written: Record<'stdout' | 'stderr', string[]> = { stdout: [], stderr: [] };
  const host: Host = {
    stdin: inputOf(stdin),
    stdout: {
      isTTY: terminal !== undefined,
      columns: terminal,
      write: (text) => {
        written.stdout.push(text);
        onStdout?.(text);
      },
    },
    stderr: { isTTY: false, write: (text) => written.stderr.push(text) },
    env: { AGENTLENS_URL: 'http://platform.test', AGENTLENS_API_KEY: 'agk_live_test', HOME: '/nowhere', ...env },
    folder,
    fetch: async (input, init) => {
      const { pathname, search } = new URL(input instanceof Request ? input.url : input);
      const { method = 'GET', headers, body } = init ?? {};
      const sent = { method, path: pathname + search, headers: new Headers(headers), body: parsed(body) };
      requests.push(sent);
      const given = await answer(sent);
      return given instanceof Response ? given : Response.json(given);
    },
    nowMs: () => Date.parse('2026-11-25T10:00:00Z'),
    signal,
    version: '1.2.3',
  };
  const exitCode = await run(words, host);
  return { exitCode, stdout: written.stdout.join(''), stderr: written.stderr.join(''), requests };
}

/** An error response in the platform's format. */
export function refusal(status: number, problem: object): Response {
  return Response.json({ status, ...problem }, { status });
}

function inputOf(text: string): PromptInput {
  const input = new PassThrough();
  input.end(text);
  return input;
}

function parsed(body: unknown): unknown {
  return typeof body === 'string' ? JSON.parse(body) : undefined;
}
