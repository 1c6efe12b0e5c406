import { AgentError } from '../core/agent-error.ts';
import type { Json, Metadata } from '../core/json.ts';
import { type ContentBlock, type Message, openToolUses } from '../core/message.ts';
import { type RedactStored, redactStored } from '../core/redact.ts';
import { type Effects, liveEffects } from '../effects/effects.ts';
import {
  type AppendOptions,
  checkSessionId,
  type EntryBody,
  SCHEMA_VERSION,
  type SessionEntry,
  type SessionFilter,
  type SessionMetadata,
  type SessionStore,
  type StoredSession,
} from './session-store.ts';

export interface AgentSessionOptions {
  readonly sessionId?: string;
  readonly model?: string;
  readonly provider?: string;
  readonly metadata?: Metadata;
  /** Clock and ids. Default: the machine's. */
  readonly effects?: Effects;
  /** Removes data from messages before they are stored. Default: secrets and personal data. */
  readonly redact?: RedactStored;
}

interface Lineage {
  readonly parentSessionId: string | null;
  readonly parentToolUseId: string | null;
}

const MAX_ENTRIES = 50_000;
const NO_PARENT: Lineage = { parentSessionId: null, parentToolUseId: null };

/**
 * A conversation with its lineage and metadata. Changes apply in memory at once and are written with `save`; a runtime
 * also writes them at every point that must survive a crash.
 */
export class AgentSession {
  readonly sessionId: string;
  readonly agentType: string;
  readonly parentSessionId: string | null;
  readonly parentToolUseId: string | null;
  readonly createdAt: string;
  model: string;
  provider: string;
  readonly #effects: Effects;
  readonly #redact: RedactStored;
  readonly #metadata: Map<string, Json>;
  readonly #children: string[] = [];
  #messages: Message[] = [];
  #updatedAt: string;
  #entries: readonly SessionEntry[] = [];
  #pending: SessionEntry[] = [];
  #count = 0;
  #store: SessionStore | null = null;
  #stored = false;
  #writing: Promise<void> = Promise.resolve();

  constructor(agentType: string, options: AgentSessionOptions = {}, lineage: Lineage = NO_PARENT) {
    this.#effects = options.effects ?? liveEffects();
    this.#redact = options.redact ?? redactStored;
    this.agentType = agentType;
    this.sessionId = checkSessionId(options.sessionId ?? this.#effects.newId());
    this.parentSessionId = lineage.parentSessionId;
    this.parentToolUseId = lineage.parentToolUseId;
    this.model = options.model ?? '';
    this.provider = options.provider ?? '';
    this.#metadata = new Map(Object.entries(options.metadata ?? {}));
    this.createdAt = this.#nowIso();
    this.#updatedAt = this.createdAt;
  }

  /** A session of an agent that another one's tool call started. */
  static subagent(
    agentType: string,
    parentSessionId: string,
    parentToolUseId: string | null,
    options: AgentSessionOptions = {},
  ): AgentSession {
    return new AgentSession(agentType, options, { parentSessionId, parentToolUseId });
  }

  /** @throws AgentError `session_not_found`, `session_corrupt`, `schema_too_new` */
  static async load(
    store: SessionStore,
    sessionId: string,
    options: Pick<AgentSessionOptions, 'effects' | 'redact'> = {},
  ): Promise<AgentSession> {
    return AgentSession.#restore(store, await store.load(sessionId), options);
  }

  static listAll(store: SessionStore, filter?: SessionFilter): Promise<string[]> {
    return store.list(filter);
  }

  static #restore(store: SessionStore, { meta, entries }: StoredSession, options: AgentSessionOptions): AgentSession {
    const { model, provider } = meta;
    const session = new AgentSession(
      meta.agent_type,
      { ...options, sessionId: meta.session_id, model, provider, metadata: meta.metadata },
      { parentSessionId: meta.parent_session_id, parentToolUseId: meta.parent_tool_use_id },
    );
    Object.assign(session, { createdAt: meta.created_at });
    session.#updatedAt = meta.updated_at;
    session.#children.push(...meta.child_session_ids);
    // The history takes precedence: metadata is written less often.
    for (const entry of entries) session.#apply(entry);
    session.#entries = entries;
    session.#count = entries.length;
    session.#store = store;
    session.#stored = true;
    return session;
  }

  get updatedAt(): string {
    return this.#updatedAt;
  }

  get childSessionIds(): readonly string[] {
    return this.#children;
  }

  addMessage(message: Message): void {
    this.#messages.push(message);
    this.#record({ type: 'message', message: this.#redact(message) });
  }

  getHistory(): readonly Message[] {
    return this.#messages;
  }

  /** Replaces the conversation, for compaction and corrections. The file keeps the original. */
  editHistory(edit: (history: Message[]) => Message[]): void {
    this.#messages = [...edit([...this.#messages])];
    this.#record({ type: 'history-replaced', messages: this.#redact(this.#messages) });
  }

  setMetadata(key: string, value: Json): void {
    this.#metadata.set(key, value);
    this.#record({ type: 'metadata', key, value: this.#redact(value) });
  }

  getMetadata(key: string): Json | undefined {
    return this.#metadata.get(key);
  }

  /** The live map, shared with contexts. Changes are stored with the next `save`. */
  get metadata(): Map<string, Json> {
    return this.#metadata;
  }

  addChildSession(id: string): void {
    if (this.#children.includes(id)) return;
    this.#children.push(id);
    this.#record({ type: 'child', sessionId: id });
  }

  getChildSessions(): readonly string[] {
    return this.#children;
  }

  /** Adds a fact other than a message to the journal: a started call, an ended turn. */
  journal(body: EntryBody): void {
    this.#record(this.#redact(body));
  }

  /** The journal as stored when the session was loaded. */
  get loadedEntries(): readonly SessionEntry[] {
    return this.#entries;
  }

  /** The model's calls without a result. */
  openCalls(): ReturnType<typeof openToolUses> {
    return openToolUses(this.#messages);
  }

  /** A new session without a parent, with the first `at` messages of this one (default all). */
  fork(at = this.#messages.length): AgentSession {
    const { model, provider, agentType } = this;
    const copy = new AgentSession(agentType, {
      ...{ model, provider, effects: this.#effects, redact: this.#redact },
      metadata: Object.fromEntries(this.#metadata),
    });
    copy.setMetadata('forked_from', this.sessionId);
    for (const message of this.#messages.slice(0, at)) copy.addMessage(message);
    const open = new Set(copy.openCalls().map(({ id }) => id));
    if (open.size > 0)
      copy.editHistory((history) => history.map((message) => withoutCalls(message, open)).filter(isFull));
    return copy;
  }

  /** Writes unsaved changes. @throws AgentError `invalid_config` without a store, `session_write_failed` */
  async save(store?: SessionStore): Promise<void> {
    if (store !== undefined) this.attach(store);
    await this.flush({ sync: true });
    await this.#storeOrThrow().saveMetadata(this.toMetadata());
  }

  /** Sets the store that `save` writes to. */
  attach(store: SessionStore): void {
    if (this.#store === store) return;
    if (this.#store !== null) throw new AgentError('invalid_config', 'the session belongs to another store');
    this.#store = store;
  }

  /** Writes the journal, in order, without the metadata. */
  flush(options: AppendOptions = {}): Promise<void> {
    const store = this.#storeOrThrow();
    const write = this.#writing.then(async () => {
      if (!this.#stored) {
        await store.create(this.toMetadata());
        this.#stored = true;
      }
      const entries = this.#pending;
      if (entries.length === 0) return;
      this.#pending = [];
      try {
        await store.append(this.sessionId, entries, options);
      } catch (error) {
        // Retried with the next flush, so that a temporarily full disk loses nothing.
        this.#pending = [...entries, ...this.#pending];
        throw error;
      }
    });
    this.#writing = write.catch(() => undefined);
    return write;
  }

  toMetadata(): SessionMetadata {
    return {
      schema_version: SCHEMA_VERSION,
      session_id: this.sessionId,
      agent_type: this.agentType,
      parent_session_id: this.parentSessionId,
      parent_tool_use_id: this.parentToolUseId,
      child_session_ids: [...this.#children],
      model: this.model,
      provider: this.provider,
      created_at: this.createdAt,
      updated_at: this.#updatedAt,
      entry_count: this.#count,
      metadata: this.#redact(Object.fromEntries(this.#metadata)),
    };
  }

  #record(body: EntryBody): void {
    if (this.#count >= MAX_ENTRIES)
      throw new AgentError('capacity', 'the session has too many entries: fork it, or start a new one');
    this.#updatedAt = this.#nowIso();
    this.#count += 1;
    this.#pending.push({ v: SCHEMA_VERSION, seq: this.#count, at: this.#updatedAt, ...body });
  }

  #apply(entry: SessionEntry): void {
    switch (entry.type) {
      case 'message':
        this.#messages.push(entry.message);
        break;
      case 'history-replaced':
        this.#messages = [...entry.messages];
        break;
      case 'child':
        if (!this.#children.includes(entry.sessionId)) this.#children.push(entry.sessionId);
        break;
      case 'metadata':
        this.#metadata.set(entry.key, entry.value);
        break;
      default:
    }
  }

  #storeOrThrow(): SessionStore {
    if (this.#store === null) throw new AgentError('invalid_config', 'save needs a store: session.save(store)');
    return this.#store;
  }

  #nowIso(): string {
    return new Date(this.#effects.now()).toISOString();
  }
}

function withoutCalls(message: Message, ids: ReadonlySet<string>): Message {
  const keep = (block: ContentBlock) => block.type !== 'tool_use' || !ids.has(block.id);
  return { role: message.role, content: message.content.filter(keep) };
}

const isFull = ({ content }: Message) => content.length > 0;
