import type { Secret } from './secret.ts';

export interface ReadFile {
  readonly text: string;
  /** SHA-256 of the whole file, hex. */
  readonly hash: string;
  readonly bytes: number;
}

export interface HostFiles {
  /** @throws AgentError `denied_by_host`, `tool_failed` (the file does not exist, is too large or is not text) */
  read(path: string): Promise<ReadFile>;
  /**
   * Replaces the whole file. `ifHash`: only if it still has this content; null: only if it does not exist. @throws
   * AgentError `conflict`
   */
  write(path: string, text: string, options?: { readonly ifHash?: string | null }): Promise<{ readonly hash: string }>;
  /** Files, relative to the root, sorted; at most `limit`. */
  list(pattern: string, options?: { readonly folder?: string; readonly limit?: number }): Promise<readonly string[]>;
  /** Resolves links; the result is relative to the root. */
  resolve(path: string): Promise<string>;
}

export interface ShellRun {
  readonly command: string;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  readonly maxChars: number;
  readonly onOutput?: (text: string) => void;
}

export interface ShellResult {
  /** Null if a signal ended it. */
  readonly exitCode: number | null;
  readonly output: string;
  readonly truncated: boolean;
  readonly timedOut: boolean;
}

export interface HostShell {
  /** @throws AgentError `denied_by_host`; the signal's reason when it is aborted */
  run(run: ShellRun): Promise<ShellResult>;
}

export interface HttpRequest {
  readonly method: string;
  readonly url: string;
  readonly headers?: Readonly<Record<string, string | Secret>>;
  readonly body?: string;
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

export interface HttpResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface HostHttp {
  /** @throws AgentError `denied_by_host`, `tool_failed` (no response) */
  send(request: HttpRequest): Promise<HttpResponse>;
}

/** Everything through which tools reach the machine. */
export interface Host {
  readonly files: HostFiles;
  readonly shell: HostShell;
  readonly http: HostHttp;
  close(): Promise<void>;
}
