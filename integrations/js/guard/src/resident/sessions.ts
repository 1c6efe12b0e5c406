import { readFileSync, statSync } from 'node:fs';
import { hostname, userInfo } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import type { HookEvent, HostContract, JsonRecord } from '../hosts/host.ts';
import type { GuardConfig, HostSettings, Journal, JournalLine } from '../state.ts';
import { type GuardOrder, OrderFeed } from './orders.ts';
import type { Outbox } from './outbox.ts';
import type { PlatformClient } from './platform.ts';
import { hostProcess, isAlive, type WatchedProcess } from './processes.ts';
import { GuardedSession, type Latch, runIdOf } from './session.ts';

export interface SessionDependencies {
  readonly config: () => GuardConfig | undefined;
  readonly client: PlatformClient;
  readonly outbox: Outbox;
  readonly journal: Journal;
  readonly now: () => number;
  readonly log: (message: string) => void;
  readonly actor: string | undefined;
}

const RESTORE_MS = 48 * 3_600_000;
const KILL_AFTER_MS = 3_000;

/** All sessions on this machine: their runs on the platform, the orders that hold them, and their host processes. */
export class Sessions {
  readonly #deps: SessionDependencies;
  readonly #sessions = new Map<string, GuardedSession>();
  readonly #feeds = new Map<string, OrderFeed>();
  readonly #orders = new Map<string, GuardOrder>();
  readonly #waiting = new Set<() => void>();
  readonly #watched = new Map<string, WatchedProcess>();
  readonly #instance = `${hostname()}:guard:${process.pid}`;

  constructor(deps: SessionDependencies) {
    this.#deps = deps;
  }

  get size(): number {
    return this.#sessions.size;
  }

  /** Whether a host that was seen still runs. */
  get hasLiveHosts(): boolean {
    return this.#watched.size > 0;
  }

  get feeds(): JsonRecord[] {
    return [...this.#feeds].map(([agent, feed]) => ({ agent, connected: feed.connected }));
  }

  get actor(): { readonly externalId: string } {
    return { externalId: this.#deps.actor ?? userInfo().username };
  }

  close(): void {
    for (const feed of this.#feeds.values()) feed.close();
    this.#wakeAll();
  }

  /** The session of an event, with its ancestors. What a resident before this one knew is restored. */
  of(contract: HostContract, settings: HostSettings, event: HookEvent, parentPid: number | undefined): GuardedSession {
    const key = runIdOf(contract, event);
    let session = this.#sessions.get(key);
    if (session === undefined) {
      const { subAgent, transcript: _own, ...rest } = event;
      const above = subAgent?.parent === undefined ? rest : { ...rest, subAgent: { id: subAgent.parent } };
      const parent = subAgent === undefined ? undefined : this.of(contract, settings, above, parentPid);
      session = new GuardedSession(contract, settings.agent ?? contract.id, event, parent);
      session.restore(this.#linesOf(session));
      const order = this.#orderFor(session);
      if (order !== undefined) this.#apply(session, order);
      this.#sessions.set(key, session);
      this.#follow(session.agentId);
    }
    session.refresh(event);
    session.hookParent = parentPid ?? session.hookParent;
    this.#watch(session, parentPid);
    return session;
  }

  /** @throws NoDecision if the run cannot be announced */
  async ensureStarted(session: GuardedSession, settings: HostSettings): Promise<void> {
    if (session.parent !== undefined) await this.ensureStarted(session.parent, settings);
    session.started ??= this.#start(session, settings);
    try {
      await session.started;
    } catch (error) {
      session.started = undefined;
      throw error;
    }
  }

  /** Ends a run and those of its sub-agents. @throws NoDecision */
  async end(session: GuardedSession): Promise<void> {
    if (session.ended || session.started === undefined) return;
    session.ended = true;
    for (const child of this.#sessions.values()) if (child.parent === session) await this.end(child);
    await this.#deps.outbox.flush();
    this.write(session, { k: 'end' });
    if (session.parent === undefined) this.#watched.delete(session.runId);
    const status = session.latch === undefined ? 'success' : 'interrupted';
    await this.#deps.client.end(session.runId, session.agentId, status);
  }

  /** Ends the runs of hosts that are gone. @throws NoDecision */
  async sweep(): Promise<void> {
    for (const [key, watched] of this.#watched) {
      if (isAlive(watched)) continue;
      this.#watched.delete(key);
      const session = this.#sessions.get(key);
      if (session !== undefined) await this.end(session);
    }
  }

  latch(session: GuardedSession, latch: Latch): void {
    session.latch = latch;
    this.write(session, { k: 'latch', answer: latch.by, note: latch.reason });
    this.#wakeAll();
  }

  send(session: GuardedSession, id: string, kind: string, data: JsonRecord): void {
    this.#deps.outbox.add(session.agentId, {
      ...{ schema: 'handlebar.audit.v1', id: `${session.runId}:${id}`, ts: this.#deps.now(), kind },
      ...{ runId: session.runId, sessionId: session.id, actorExternalId: this.actor.externalId },
      ...{ parentRunId: session.parent?.runId, data },
    });
  }

  write(session: GuardedSession, line: Omit<JournalLine, 't' | 'host' | 'session' | 'agent'>): void {
    const { host, id, agent } = session;
    this.#deps.journal.write({ t: this.#deps.now(), host, session: id, agent, ...line });
  }

  /** Waits until an approval or an order arrives, at most `ms`. */
  wait(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        clearTimeout(timer);
        this.#waiting.delete(wake);
        resolve();
      };
      const timer = setTimeout(wake, ms);
      this.#waiting.add(wake);
    });
  }

  #wakeAll(): void {
    for (const wake of this.#waiting) wake();
  }

  *#linesOf(session: GuardedSession): Generator<JournalLine> {
    // Two days of all sessions: only lines that name this one are worth parsing.
    const named = JSON.stringify(session.id);
    for (const line of this.#deps.journal.read(this.#deps.now() - RESTORE_MS, named))
      if (line.host === session.host && line.session === session.id && line.agent === session.agent) yield line;
  }

  #watch(session: GuardedSession, parentPid: number | undefined): void {
    if (session.parent !== undefined || parentPid === undefined || this.#watched.has(session.runId)) return;
    const host = hostProcess(parentPid);
    if (host !== undefined) this.#watched.set(session.runId, host);
  }

  async #start(session: GuardedSession, settings: HostSettings): Promise<void> {
    const { project, parent, model, host, runId, agentId } = session;
    const repository = project === undefined ? undefined : repositoryOf(project);
    const tags = {
      ...{ host, 'host.version': settings.version, machine: hostname(), mode: settings.mode },
      ...{ project: repository?.project, branch: repository?.branch },
    };
    const given = Object.entries(tags).filter((entry): entry is [string, string] => entry[1] !== undefined);
    await this.#deps.client.start({
      ...{ runId, agentId, sessionId: session.id, actor: this.actor, tags: Object.fromEntries(given), model },
      ...{ parentRunId: parent?.runId, parentToolUseId: session.toolUseId },
    });
    this.write(session, { k: 'start' });
  }

  #follow(agentId: string): void {
    if (this.#feeds.has(agentId)) return;
    const { client, log } = this.#deps;
    const feed = new OrderFeed(client, agentId, this.#instance, {
      log,
      onApproval: () => this.#wakeAll(),
      onOrder: (agent, order) => {
        // Orders for all runs of the tenant arrive; of those only the ones for sessions on this machine matter.
        if (order.scope !== 'run') this.#orders.set(`${order.scope}:${order.scopeId || agent}`, order);
        for (const session of this.#sessions.values()) if (concerns(order, session)) this.#apply(session, order);
      },
    });
    this.#feeds.set(agentId, feed);
  }

  #orderFor(session: GuardedSession): GuardOrder | undefined {
    const all = [...this.#orders.values()].filter((order) => concerns(order, session));
    return all.find(({ state }) => state === 'killed') ?? all.find(({ state }) => state === 'paused');
  }

  #apply(session: GuardedSession, order: GuardOrder): void {
    const { latch } = session;
    // Only an order lifts an order; what the guard itself found stays.
    if (latch !== undefined && latch.by !== 'order' && latch.by !== 'pause') return;
    if (order.state === 'running') {
      if (latch === undefined) return;
      session.latch = undefined;
      this.write(session, { k: 'unlatch' });
      return;
    }
    const isKilled = order.state === 'killed';
    const reason = `An operator ${order.state} this session${order.reason === '' ? '' : `: ${order.reason}`}`;
    this.latch(session, { by: isKilled ? 'order' : 'pause', reason });
    const watched = this.#watched.get(session.runId);
    if (isKilled && watched !== undefined && this.#deps.config()?.killHost === true) endLater(watched);
  }
}

function concerns({ scope, scopeId }: GuardOrder, session: GuardedSession): boolean {
  if (scope === 'tenant') return true;
  return scopeId === (scope === 'agent' ? session.agentId : session.runId);
}

function endLater(watched: WatchedProcess): void {
  const timer = setTimeout(() => {
    if (isAlive(watched)) process.kill(watched.pid, 'SIGTERM');
  }, KILL_AFTER_MS);
  timer.unref();
}

interface Repository {
  /** Name of the repository's folder. A worktree has that of its repository. */
  readonly project: string;
  readonly branch?: string;
}

/** The repository of a folder, read from its files: no command runs. */
function repositoryOf(folder: string): Repository {
  for (let at = folder; ; at = dirname(at)) {
    const git = gitFolder(at);
    if (git !== undefined) return { project: basename(repositoryFolder(at, git)), branch: branchOf(git) };
    if (dirname(at) === at) return { project: basename(folder) };
  }
}

/** The folder that the repository of a worktree was cloned into; `at` for any other. */
function repositoryFolder(at: string, git: string): string {
  let shared: string;
  try {
    shared = resolve(git, readFileSync(join(git, 'commondir'), 'utf8').trim());
  } catch {
    // Only worktrees share a folder.
    return at;
  }
  // A bare repository is such a folder itself.
  return basename(shared) === '.git' ? dirname(shared) : shared.replace(/\.git$/, '');
}

/** A worktree and a submodule have a file that names the folder. */
function gitFolder(folder: string): string | undefined {
  const path = join(folder, '.git');
  try {
    if (statSync(path).isDirectory()) return path;
    const named = /^gitdir: (.+)$/m.exec(readFileSync(path, 'utf8'))?.[1];
    return named === undefined ? undefined : resolve(folder, named);
  } catch {
    // This folder is not the root of a repository.
    return undefined;
  }
}

function branchOf(git: string): string | undefined {
  try {
    return /^ref: refs\/heads\/(.+)$/m.exec(readFileSync(join(git, 'HEAD'), 'utf8'))?.[1];
  } catch {
    return undefined;
  }
}
