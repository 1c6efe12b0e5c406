import type { Guard } from '@agentlens/sdk/adapter';
import type { ClientReply } from './client-reply.ts';
import type { Id, Message } from './json-rpc.ts';
import type { PinGuard } from './pin-guard.ts';
import { Session } from './session.ts';

const IDLE_MS = 30 * 60_000;
const SWEEP_MS = 60_000;
/** A client may invent ids; each session holds a run and some 25 kB. */
const MAX_SESSIONS = 1_000;

export interface HttpSessionsSettings {
  readonly guard: Guard;
  readonly server: string;
  readonly progressEveryMs?: number;
  readonly pins?: PinGuard;
}

/** A session over HTTP, and the requests of it that wait for their answers. */
export class HttpSession {
  readonly session: Session;
  readonly #replies = new Map<Id, ClientReply>();
  readonly #tokens = new Map<unknown, ClientReply>();
  /** Sends the server something with the headers of the session's last request. */
  tellServer: (message: Message) => void = () => undefined;
  lastUsedAt = Date.now();
  /** True if the server gave it its id. */
  isNamed = false;

  constructor({ guard, server, progressEveryMs, pins }: HttpSessionsSettings) {
    this.session = new Session({
      ...{ guard, server, progressEveryMs, pins },
      toClient: (message) => this.#tell(message),
      toServer: (message) => this.tellServer(message),
    });
  }

  get isBusy(): boolean {
    return this.#replies.size > 0;
  }

  expects(id: Id): boolean {
    return this.#replies.has(id);
  }

  expect(id: Id, progressToken: unknown, reply: ClientReply): void {
    this.#replies.set(id, reply);
    if (progressToken !== undefined) this.#tokens.set(progressToken, reply);
  }

  /** Whether the request still waits for its answer. */
  answered(id: Id, progressToken: unknown): boolean {
    this.#tokens.delete(progressToken);
    return this.#replies.delete(id);
  }

  #tell(message: Message): void {
    if (message.id === undefined || message.id === null) {
      this.#tokens.get(message.params?.progressToken)?.event(message);
      return;
    }
    const reply = this.#replies.get(message.id);
    this.#replies.delete(message.id);
    reply?.finish(message);
  }
}

/** The sessions of a server. One without an id is over with its request, as in the protocol since 2026-07-28. */
export class HttpSessions {
  readonly #settings: HttpSessionsSettings;
  readonly #known = new Map<string, HttpSession>();
  readonly #sweeper: NodeJS.Timeout;

  constructor(settings: HttpSessionsSettings) {
    this.#settings = settings;
    this.#sweeper = setInterval(() => void this.#sweep(), SWEEP_MS).unref();
  }

  get size(): number {
    return this.#known.size;
  }

  /** The session with this id; a new one if the id is unknown, for example since before a restart of the proxy. */
  async find(id: string | undefined): Promise<HttpSession> {
    const known = id === undefined ? undefined : this.#known.get(id);
    const session = known ?? new HttpSession(this.#settings);
    session.lastUsedAt = Date.now();
    if (id === undefined) return session;
    // The order of the map is the order of use.
    this.#known.delete(id);
    this.#known.set(id, session);
    if (known === undefined) await this.#makeRoom(id);
    return session;
  }

  /** The server has given it this id. */
  name(id: string, session: HttpSession): void {
    session.isNamed = true;
    this.#known.set(id, session);
  }

  /** The server does not know the id: only its clients may keep it. */
  async refused(id: string | undefined, session: HttpSession): Promise<void> {
    if (id !== undefined && !session.isNamed && this.#known.get(id) === session) await this.end(id);
  }

  async end(id: string | undefined): Promise<void> {
    const session = id === undefined ? undefined : this.#known.get(id);
    if (id !== undefined) this.#known.delete(id);
    await session?.session.end('success');
  }

  async close(): Promise<void> {
    clearInterval(this.#sweeper);
    await Promise.all([...this.#known.keys()].map((id) => this.end(id)));
  }

  /** Ends the session that was idle for longest. Ids that the server gave come last, so that others cannot displace them. */
  async #makeRoom(newest: string): Promise<void> {
    if (this.#known.size <= MAX_SESSIONS) return;
    const idle = [...this.#known].filter(([id, { isBusy }]) => id !== newest && !isBusy);
    const [id] = idle.find(([, { isNamed }]) => !isNamed) ?? idle[0] ?? [newest];
    await this.end(id);
  }

  async #sweep(): Promise<void> {
    const before = Date.now() - IDLE_MS;
    for (const [id, session] of this.#known) if (!session.isBusy && session.lastUsedAt < before) await this.end(id);
  }
}
