import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import type { HostId } from '../hosts/host.ts';
import { signatureOf } from '../judge/redact.ts';
import type { Env, Journal, JournalLine } from '../state.ts';
import { callsIn, executedIn, type RecordedCall, recordIn, sessionIn } from './records.ts';

/** A call that the guard should know and does not, or that it refused and that ran. */
export interface AuditFinding {
  readonly kind: 'unseen' | 'deny-ignored' | 'not-asked' | 'call-changed' | 'tampered';
  readonly session: string;
  readonly tool: string;
  readonly call: string | undefined;
  readonly at: number | undefined;
}

export interface AuditReport {
  readonly host: HostId;
  readonly files: number;
  readonly calls: number;
  readonly findings: readonly AuditFinding[];
  /** Why transcripts were not compared. */
  readonly note?: string;
}

const MAX_FILE_BYTES = 200_000_000;

/** Compares the transcripts of a host with the journal. @param since epoch ms */
export function auditHost(host: HostId, env: Env, journal: Journal, since: number): AuditReport {
  // A call is asked about before the host writes it down, and a session may begin before `since`.
  const lines = [...journal.read(since - 24 * 3_600_000)].filter((line) => line.host === host);
  const findings: AuditFinding[] = lines
    .filter(({ k, t }) => k === 'alarm' && t >= since)
    .map(({ note, session, call, t }) => ({ kind: note as AuditFinding['kind'], session, tool: '', call, at: t }));
  const place = placeOf(host, env);
  if (place === undefined)
    return { host, files: 0, calls: 0, findings, note: 'its transcripts are not files that can be compared' };
  const files = filesIn(place).filter((file) => isRecent(file, since));
  const asked = new Asked(lines);
  let calls = 0;
  for (const file of files) {
    const transcript = readTranscript(host, file);
    for (const call of transcript.calls) {
      if ((call.at ?? Number.POSITIVE_INFINITY) < since || !isSupervised(host, call)) continue;
      calls++;
      if (asked.has(transcript.session, call)) continue;
      findings.push({ kind: 'unseen', session: transcript.session, tool: call.tool, call: call.id, at: call.at });
    }
  }
  return { host, files: files.length, calls, findings };
}

interface Place {
  readonly folder: string;
  readonly name: RegExp;
}

function placeOf(host: HostId, env: Env): Place | undefined {
  const home = env.HOME ?? homedir();
  switch (host) {
    case 'claude-code':
      return { folder: join(env.CLAUDE_CONFIG_DIR || join(home, '.claude'), 'projects'), name: /\.jsonl$/ };
    case 'codex':
      return { folder: join(env.CODEX_HOME || join(home, '.codex'), 'sessions'), name: /rollout-[^/]*\.jsonl$/ };
    case 'gemini-cli':
      return { folder: join(home, '.gemini', 'tmp'), name: /[/\\]chats[/\\][^/\\]+\.jsonl$/ };
    case 'qwen-code':
      return { folder: join(home, '.qwen', 'projects'), name: /[/\\]chats[/\\][^/\\]+\.jsonl$/ };
    case 'copilot-cli':
      return { folder: join(env.COPILOT_HOME || join(home, '.copilot'), 'session-state'), name: /events\.jsonl$/ };
    case 'kimi-code':
      return { folder: join(env.KIMI_CODE_HOME || join(home, '.kimi-code'), 'sessions'), name: /[/\\]wire\.jsonl$/ };
    case 'opencode':
      return undefined;
  }
}

function filesIn({ folder, name }: Place): string[] {
  if (!existsSync(folder)) return [];
  const all = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  return all.filter((file) => name.test(`/${file}`)).map((file) => join(folder, file));
}

function isRecent(file: string, since: number): boolean {
  const { mtimeMs, size } = statSync(file);
  return mtimeMs >= since && size <= MAX_FILE_BYTES;
}

interface Transcript {
  readonly session: string;
  readonly calls: readonly RecordedCall[];
}

/** The session that the path of a transcript names. */
function sessionOfFile(host: HostId, file: string): string {
  if (host === 'copilot-cli') return basename(dirname(file));
  // session_…/agents/main/wire.jsonl
  if (host === 'kimi-code') return basename(join(file, '../../..'));
  return basename(file, '.jsonl');
}

/** Calls that ran, once each. A call that the host itself rejected is no finding. */
function readTranscript(host: HostId, file: string): Transcript {
  let session = sessionOfFile(host, file);
  const calls = new Map<string, RecordedCall>();
  const executed = new Set<string>();
  let reportsExecution = false;
  for (const [number, line] of readFileSync(file, 'utf8').split('\n').entries()) {
    const record = recordIn(line);
    if (record === undefined) continue;
    session = sessionIn(host, record) ?? session;
    for (const call of callsIn(host, record)) calls.set(call.id ?? `${number}`, call);
    const { ids, known } = executedIn(host, record);
    reportsExecution ||= known;
    for (const id of ids) executed.add(id);
  }
  const ran = [...calls].filter(([id]) => !reportsExecution || executed.has(id)).map(([, call]) => call);
  return { session, calls: ran };
}

/** Codex runs its planning tools without a hook. */
function isSupervised(host: HostId, { tool }: RecordedCall): boolean {
  return host !== 'codex' || /^(?:exec_command|shell|local_shell|write_stdin|apply_patch|mcp__.+)$/.test(tool);
}

/** Calls that were asked about, by id, or by signature and number. */
class Asked {
  readonly #ids = new Set<string>();
  readonly #counts = new Map<string, number>();

  constructor(lines: readonly JournalLine[]) {
    for (const { k, session, call, sig = '' } of lines) {
      if (k !== 'ask') continue;
      this.#ids.add(`${session} ${call ?? ''}`);
      const key = `${session} ${sig}`;
      this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1);
    }
  }

  has(session: string, { id, tool, input }: RecordedCall): boolean {
    if (id !== undefined && this.#ids.has(`${session} ${id}`)) return true;
    const key = `${session} ${signatureOf(tool, input)}`;
    const left = this.#counts.get(key) ?? 0;
    if (left > 0) this.#counts.set(key, left - 1);
    return left > 0;
  }
}
