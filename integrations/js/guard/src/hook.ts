import { closeSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { HOSTS, isHostId } from './hosts/index.ts';
import { askResident, REFUSED, residentAnswers } from './resident/ask-resident.ts';
import { type Env, type GuardPaths, pathsIn } from './state.ts';

/** Where the launcher says the files are. */
interface HookPlace {
  readonly folder: string;
  readonly state: string;
  readonly managed?: string;
}

const START_MS = 8_000;
const RETRY_MS = 25;
/** Variables that the resident inherits: no others, so that no secret of a session stays in its memory. */
const INHERITED =
  /^(?:PATH|HOME|USER|LOGNAME|LANG|LC_\w+|TZ|TMPDIR|XDG_\w+|NODE_EXTRA_CA_CERTS|NODE_USE_ENV_PROXY|SSL_CERT_\w+|(?:https?|no|all)_proxy|AGENTLENS_ACTOR|SystemRoot|APPDATA|LOCALAPPDATA|USERPROFILE|TEMP|TMP)$/i;

/**
 * The slow path of a hook, for when no resident answers: starts one and asks it. Also the resident itself. Words:
 * `hook <host> <event> <seconds> <parent pid>` or `serve`, after `--folder`, `--state` and `--managed`.
 * @returns the exit code
 */
export async function runHook(words: readonly string[], env: Env, entry: string): Promise<number> {
  const { place, rest } = placeOf(words);
  const paths = pathsIn(place.folder, place.state);
  const [verb = '', host = '', event = '', seconds = '', parent = ''] = rest;
  if (verb === 'serve') return serve(paths, place, env);
  if (verb !== 'hook' || !isHostId(host)) {
    process.stderr.write(`agentlens-hook: unknown words ${JSON.stringify(rest)}\n`);
    return 2;
  }
  const timeoutMs = Math.max(Number(seconds) || 0, 1) * 1_000;
  const input = await stdin();
  try {
    await ensureResident(paths, place, env, entry);
    const headers = { 'x-guard-parent': parent };
    const path = `/${host}/${event}`;
    const { status, text } = await askResident(paths, { method: 'POST', path, body: input, headers, timeoutMs });
    if (status === REFUSED) {
      const end = text.indexOf('\n');
      process.stdout.write(text.slice(0, end));
      process.stderr.write(`${text.slice(end + 1)}\n`);
      return 2;
    }
    if (status !== 200) throw new Error(`the local process answered ${status}`);
    process.stdout.write(text);
    return 0;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    process.stderr.write(`AgentLens cannot supervise ${HOSTS[host].title}: ${reason}. Run: agentlens guard status\n`);
    return 2;
  }
}

function placeOf(words: readonly string[]): { place: HookPlace; rest: string[] } {
  const options = new Map<string, string>();
  const rest: string[] = [];
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? '';
    const name = /^--(folder|state|managed)$/.exec(word)?.[1];
    if (name === undefined) rest.push(word);
    else options.set(name, words[++at] ?? '');
  }
  const managed = options.get('managed');
  const place = { folder: options.get('folder') ?? '', state: options.get('state') ?? '' };
  return { place: managed === undefined || managed === '' ? place : { ...place, managed }, rest };
}

async function serve(paths: GuardPaths, { managed }: HookPlace, env: Env): Promise<number> {
  // Loaded here, because a hook that only asks does not need it.
  const { startResident } = await import('./resident/serve.ts');
  const resident = await startResident({ paths, env, managed });
  if (resident === null) return 0;
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => void resident.stop());
  await resident.stopped;
  return 0;
}

/** Starts the resident unless one answers. @throws Error if none answers in time */
export async function ensureResident(paths: GuardPaths, place: HookPlace, env: Env, entry: string): Promise<void> {
  if (await residentAnswers(paths)) return;
  mkdirSync(dirname(paths.log), { recursive: true, mode: 0o700 });
  const log = openSync(paths.log, 'a', 0o600);
  const managed = place.managed === undefined ? [] : ['--managed', place.managed];
  const words = [entry, '--folder', place.folder, '--state', place.state, ...managed, 'serve'];
  const { spawn } = await import('node:child_process');
  const child = spawn(process.execPath, [...process.execArgv, ...words], {
    cwd: '/',
    detached: true,
    stdio: ['ignore', log, log],
    env: Object.fromEntries(Object.entries(env).filter(([name]) => INHERITED.test(name))),
    windowsHide: true,
  });
  child.unref();
  closeSync(log);
  let failed: Error | undefined;
  child.once('error', (error) => {
    failed = error;
  });
  for (const until = Date.now() + START_MS; ; ) {
    if (await residentAnswers(paths)) return;
    if (failed !== undefined) throw failed;
    if (Date.now() > until) throw new Error(`the local process did not start; see ${paths.log}`);
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}

async function stdin(): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}
