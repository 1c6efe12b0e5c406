import { type Guard, refusalText, type RunScope } from '@agentlens/sdk/adapter';
import { type Id, isId, isRecord, isToolCall, type Message, refusalOf, type ToolCallRequest } from './json-rpc.ts';
import { ToolCatalog } from './tool-catalog.ts';

/** How often a client is told that a human is still being asked, ms. */
const PROGRESS_EVERY_MS = 5_000;

export interface SessionSettings {
  readonly guard: Guard;
  /** The server's name before each of its tools' names. */
  readonly server: string;
  /** Sends the client something it did not ask for. */
  readonly toClient: (message: Message) => void;
  /** Sends the server something the client did not say. */
  readonly toServer: (message: Message) => void;
  readonly progressEveryMs?: number;
}

/** What becomes of a message: passed on as it is, changed, answered here, or dropped. */
export type Verdict =
  | { readonly pass: true }
  | { readonly pass: false; readonly send?: Message; readonly answer?: Message };

const PASS: Verdict = { pass: true };

interface Call {
  readonly callId: string;
  readonly name: string;
}

/** One client's session with one server: a run, the calls in it, and what the server said of its tools. */
export class Session {
  readonly #settings: SessionSettings;
  readonly #catalog: ToolCatalog;
  readonly #lists = new Set<Id>();
  readonly #waiting = new Map<Id, AbortController>();
  readonly #calls = new Map<Id, Call>();
  #opened: Promise<RunScope> | undefined;

  constructor(settings: SessionSettings) {
    this.#settings = settings;
    this.#catalog = new ToolCatalog(settings.server, settings.guard.lens);
  }

  /** A message on its way to the server. Answers when it is decided, which may take as long as a human does. */
  async fromClient(message: Message): Promise<Verdict> {
    if (isToolCall(message)) return this.#asked(message);
    if (message.method === 'tools/list' && isId(message.id)) this.#lists.add(message.id);
    if (message.method === 'notifications/cancelled') return this.#cancelled(message.params?.requestId);
    return PASS;
  }

  /** A message on its way to the client. */
  async fromServer(message: Message): Promise<Verdict> {
    const { id, method } = message;
    if (method !== undefined || !isId(id)) return PASS;
    if (this.#lists.delete(id)) this.#catalog.learn(message.result);
    const call = this.#calls.get(id);
    return call === undefined ? PASS : this.#answered(id, call, message);
  }

  /** Ends the run; calls that have no result are recorded as given up. */
  async end(status: 'success' | 'error'): Promise<void> {
    for (const waiting of this.#waiting.values()) waiting.abort();
    if (this.#opened === undefined) return;
    const scope = await this.#opened;
    for (const { callId } of this.#calls.values()) await scope.tools.after(callId, { error: new Error('given up') });
    this.#calls.clear();
    await scope.end(status);
  }

  /** Begun with the first call: a client that only looks, or probes for the protocol, makes no run. */
  #scope(): Promise<RunScope> {
    this.#opened ??= this.#open();
    return this.#opened;
  }

  async #open(): Promise<RunScope> {
    const scope = await this.#settings.guard.open(undefined);
    scope.signal.addEventListener('abort', () => void this.#killed(scope), { once: true });
    return scope;
  }

  async #asked(request: ToolCallRequest): Promise<Verdict> {
    const { id, params } = request;
    const scope = await this.#scope();
    const name = this.#catalog.nameOf(params.name);
    const args = params.arguments ?? {};
    // Ids are unique in a session only.
    const callId = `${scope.run.id.slice(-12)}:${id}`;
    const cancel = new AbortController();
    this.#waiting.set(id, cancel);
    const decision = await scope.tools.before(
      { id: callId, name, args, tags: this.#catalog.tagsOf(params.name) },
      { signal: cancel.signal, waiting: () => this.#tellOfWaiting(request) },
    );
    this.#waiting.delete(id);
    if (cancel.signal.aborted) {
      // The client wants no answer any more, and the server has not heard of it.
      await scope.tools.after(decision.callId, { error: new Error('cancelled by the client') });
      return { pass: false };
    }
    if (decision.verdict === 'BLOCK') return { pass: false, answer: refusalOf(id, refusalText(decision)) };
    this.#calls.set(id, { callId: decision.callId, name });
    if (decision.args === args) return PASS;
    return { pass: false, send: { ...request, params: { ...params, arguments: decision.args } } };
  }

  async #answered(id: Id, { callId }: Call, { result, error }: Message): Promise<Verdict> {
    const scope = await this.#scope();
    this.#calls.delete(id);
    const { resultType } = result ?? {};
    if (result !== undefined && resultType !== undefined && resultType !== 'complete') {
      // The server asks for something first; the call comes again.
      scope.tools.leave(callId);
      return PASS;
    }
    const failure = error ?? (result?.isError === true ? result.content : undefined);
    const decision = await scope.tools.after(callId, { result, error: failure });
    if (decision?.verdict !== 'BLOCK') return PASS;
    return { pass: false, answer: refusalOf(id, refusalText(decision)) };
  }

  async #cancelled(id: unknown): Promise<Verdict> {
    if (!isId(id)) return PASS;
    const waiting = this.#waiting.get(id);
    if (waiting !== undefined) {
      waiting.abort(new Error('cancelled by the client'));
      return { pass: false };
    }
    const call = this.#calls.get(id);
    if (call === undefined) return PASS;
    this.#calls.delete(id);
    const scope = await this.#scope();
    await scope.tools.after(call.callId, { error: new Error('cancelled by the client') });
    return PASS;
  }

  /** An operator stopped the run: the server stops its calls, and the client reads why. */
  async #killed(scope: RunScope): Promise<void> {
    const { toClient, toServer } = this.#settings;
    const { stopped } = scope;
    const calls = [...this.#calls];
    this.#calls.clear();
    for (const [id, { callId }] of calls) {
      const reason = stopped?.message ?? 'the run was stopped';
      toServer({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id, reason } });
      toClient(refusalOf(id, stopped === undefined ? reason : refusalText(stopped)));
      await scope.tools.after(callId, { error: new Error(reason) });
    }
  }

  /** Clients give up after a minute, unless they hear that something goes on. */
  #tellOfWaiting({ params }: ToolCallRequest): () => void {
    const progressToken = isRecord(params._meta) ? params._meta.progressToken : undefined;
    if (!isId(progressToken)) return () => undefined;
    const { toClient, progressEveryMs = PROGRESS_EVERY_MS } = this.#settings;
    let step = 0;
    const tell = () => {
      step++;
      // Smaller than any step of the server's own, which follow and have to be larger.
      const progress = {
        progressToken,
        progress: step / 1_000_000,
        message: 'Waiting for a human to approve this call',
      };
      toClient({ jsonrpc: '2.0', method: 'notifications/progress', params: progress });
    };
    tell();
    const timer = setInterval(tell, progressEveryMs);
    return () => clearInterval(timer);
  }
}
