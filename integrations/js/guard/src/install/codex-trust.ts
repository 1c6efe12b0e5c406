import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { isRecord, type JsonRecord, recordOf, text } from '../hosts/host.ts';

const TRUST_MS = 30_000;

/** A hook as Codex lists it. */
interface ListedHook {
  readonly key: string;
  readonly hash: string;
  readonly trusted: boolean;
}

/** Codex did not take the guard's hooks as trusted. */
export class CodexTrustError extends Error {
  override readonly name = 'CodexTrustError';
}

/**
 * Makes Codex trust the hooks of the guard, by its own protocol: untrusted hooks are skipped without a message. Codex
 * computes the hashes. @throws CodexTrustError
 */
export async function trustCodexHooks(
  binary: string,
  launcher: string,
  env: NodeJS.ProcessEnv,
  cwd: string,
): Promise<void> {
  const server = new AppServer(binary, env, cwd);
  try {
    await Promise.race([server.closed, server.timeout(TRUST_MS), trust(server, launcher, cwd)]);
  } finally {
    server.end();
  }
}

async function trust(server: AppServer, launcher: string, cwd: string): Promise<void> {
  const clientInfo = { name: 'agentlens-guard', title: 'AgentLens', version: '1' };
  await server.call('initialize', { clientInfo, capabilities: { experimentalApi: true } });
  server.notify('initialized');
  const ours = await listHooks(server, launcher, cwd);
  if (ours.length === 0) throw new CodexTrustError('Codex does not list the hooks of the guard');
  const state = Object.fromEntries(ours.map(({ key, hash }) => [key, { trusted_hash: hash }]));
  await server.call('config/batchWrite', {
    edits: [{ keyPath: 'hooks.state', value: state, mergeStrategy: 'upsert' }],
    reloadUserConfig: true,
  });
  const after = await listHooks(server, launcher, cwd);
  const untrusted = after.filter(({ trusted }) => !trusted);
  if (untrusted.length > 0)
    throw new CodexTrustError(`Codex does not trust ${untrusted.length} of ${after.length} hooks of the guard`);
}

async function listHooks(server: AppServer, launcher: string, cwd: string): Promise<ListedHook[]> {
  const answer = recordOf(await server.call('hooks/list', { cwds: [cwd] }));
  const found: ListedHook[] = [];
  const visit = (value: unknown) => {
    if (Array.isArray(value)) for (const item of value) visit(item);
    if (!isRecord(value)) return;
    const [key, hash] = [text(value.key), text(value.currentHash)];
    if (key !== undefined && hash !== undefined) {
      if (JSON.stringify(value).includes(JSON.stringify(launcher).slice(1, -1)))
        found.push({ key, hash, trusted: value.trustStatus === 'trusted' || value.trustStatus === 'managed' });
    } else for (const item of Object.values(value)) visit(item);
  };
  visit(answer);
  return [...new Map(found.map((hook) => [hook.key, hook])).values()];
}

/** JSON-RPC over the standard streams of `codex app-server`. */
class AppServer {
  readonly #child;
  readonly #pending = new Map<number, { resolve: (result: unknown) => void; reject: (error: Error) => void }>();
  readonly closed: Promise<never>;
  #nextId = 1;
  #timer: NodeJS.Timeout | undefined;

  constructor(binary: string, env: NodeJS.ProcessEnv, cwd: string) {
    this.#child = spawn(binary, ['app-server'], { env, cwd, stdio: ['pipe', 'pipe', 'ignore'] });
    this.closed = new Promise((_resolve, reject) => {
      this.#child.once('error', (error) => reject(new CodexTrustError(`codex does not start: ${error.message}`)));
      this.#child.once('exit', (code) => reject(new CodexTrustError(`codex app-server ended with ${code}`)));
    });
    this.closed.catch(() => undefined);
    createInterface({ input: this.#child.stdout }).on('line', (line) => this.#receive(line));
  }

  timeout(ms: number): Promise<never> {
    return new Promise((_resolve, reject) => {
      this.#timer = setTimeout(
        () => reject(new CodexTrustError(`codex app-server did not answer within ${ms} ms`)),
        ms,
      );
    });
  }

  call(method: string, params: JsonRecord): Promise<unknown> {
    const id = this.#nextId++;
    const answered = new Promise<unknown>((resolve, reject) => this.#pending.set(id, { resolve, reject }));
    this.#child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
    return answered;
  }

  notify(method: string): void {
    this.#child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', method })}\n`);
  }

  end(): void {
    clearTimeout(this.#timer);
    this.#child.kill();
  }

  #receive(line: string): void {
    let message: JsonRecord;
    try {
      message = recordOf(JSON.parse(line));
    } catch {
      // A line of the log.
      return;
    }
    const pending = typeof message.id === 'number' ? this.#pending.get(message.id) : undefined;
    if (pending === undefined) return;
    this.#pending.delete(message.id as number);
    if (message.error === undefined) pending.resolve(message.result);
    else pending.reject(new CodexTrustError(text(recordOf(message.error).message) ?? 'codex rejected the request'));
  }
}
