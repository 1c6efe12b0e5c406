import { type Guard, type RunScope, refusalText } from '@agentlens/sdk/adapter';
import {
  errorOf,
  type Id,
  invalid,
  isId,
  isRecord,
  isRequest,
  isToolCall,
  type Message,
  type Request,
  refusalOf,
} from './json-rpc.ts';
import { DEFINITION_CHANGED, type ListKind, type PinGuard } from './pin-guard.ts';
import { readTaskStatus, taskIdIn, Tasks } from './tasks.ts';
import { ToolCatalog } from './tool-catalog.ts';

/** How often a client learns that a call still waits for a person, ms. */
const PROGRESS_EVERY_MS = 5_000;
/** Requests that only describe or connect. Every other one is decided before it is forwarded, unknown ones too. */
const NOT_DECIDED: ReadonlySet<string> = new Set([
  ...['initialize', 'ping', 'server/discover', 'logging/setLevel', 'roots/list'],
  ...['tools/list', 'prompts/list', 'resources/list', 'resources/templates/list'],
  ...['resources/unsubscribe', 'subscriptions/listen'],
  ...['tasks/get', 'tasks/list', 'tasks/cancel', 'tasks/update'],
]);

export interface SessionSettings {
  readonly guard: Guard;
  /** The server's name before each of its tools' names. */
  readonly server: string;
  /** Sends the client something it did not ask for. */
  readonly toClient: (message: Message) => void;
  /** Sends the server something the client did not say. */
  readonly toServer: (message: Message) => void;
  readonly progressEveryMs?: number;
  readonly pins?: PinGuard;
}

/** What happens to a message: forwarded as it is, forwarded changed, answered to its sender, or dropped. */
export type Verdict =
  | { readonly pass: true }
  | { readonly pass: false; readonly send?: Message; readonly answer?: Message };

const PASS: Verdict = { pass: true };
const DROP: Verdict = { pass: false };

/** `callId` is undefined for a request that is not decided. */
interface OpenRequest {
  readonly method: string;
  readonly params: Request['params'];
  /** The task that it asks about. */
  readonly taskId: string | undefined;
  callId?: string;
}

/** The requests of one side that have no answer yet. Each side numbers its own. */
class Requests {
  readonly open = new Map<Id, OpenRequest>();
  readonly tasks = new Tasks();
  readonly waiting = new Map<Id, AbortController>();
}

interface Asked {
  readonly name: string;
  readonly args: unknown;
  readonly tags?: readonly string[];
  /** The request with decided arguments. */
  readonly withArgs: (args: unknown) => Message;
  readonly refusal: (text: string) => Message;
}

/** True if a request is decided before it is forwarded. */
export function isDecided(message: Message): boolean {
  return isRequest(message) && !NOT_DECIDED.has(message.method);
}

/** One client's session with one server: a run, the calls in it, and what the server said of its tools. */
export class Session {
  readonly #settings: SessionSettings;
  readonly #catalog: ToolCatalog;
  readonly #ofClient = new Requests();
  readonly #ofServer = new Requests();
  #opened: Promise<RunScope> | undefined;
  /** What changed before the first call. */
  readonly #notes: Readonly<Record<string, unknown>>[] = [];

  constructor(settings: SessionSettings) {
    this.#settings = settings;
    this.#catalog = new ToolCatalog(settings.server, settings.guard.lens);
  }

  /** A message on its way to the server. Answers when it is decided, which may take as long as a human does. */
  fromClient(message: Message): Promise<Verdict> {
    return this.#take(message, this.#ofClient, this.#ofServer);
  }

  /** A message on its way to the client. */
  fromServer(message: Message): Promise<Verdict> {
    return this.#take(message, this.#ofServer, this.#ofClient);
  }

  /** Ends the run; calls that have no result are recorded as given up. */
  async end(status: 'success' | 'error'): Promise<void> {
    const sides = [this.#ofClient, this.#ofServer];
    for (const { waiting } of sides) for (const controller of waiting.values()) controller.abort();
    // A change that the client saw is recorded, even if no call followed.
    if (this.#opened === undefined && this.#notes.length === 0) return;
    const scope = await this.#scope();
    for (const { open, tasks } of sides) {
      for (const { callId, completed } of tasks.close())
        await scope.tools.after(callId, completed ? { result: undefined } : { error: new Error('given up') });
      for (const { callId } of open.values())
        if (callId !== undefined) await scope.tools.after(callId, { error: new Error('given up') });
      open.clear();
    }
    await scope.end(status);
  }

  async #take(message: Message, own: Requests, others: Requests): Promise<Verdict> {
    if (isRequest(message)) return this.#requested(message, own);
    if (message.method === 'notifications/cancelled') return this.#cancelled(message.params?.requestId, own);
    if (message.method === 'notifications/tasks/status') await this.#heard(message.params, others);
    if (message.method !== undefined) return PASS;
    // Without an id it is a server's error about something it could not read.
    return isId(message.id) ? this.#answered(message.id, message, others) : PASS;
  }

  async #requested(request: Request, own: Requests): Promise<Verdict> {
    const { id, method } = request;
    if (own.open.has(id))
      return { pass: false, answer: invalid(null, `the id ${id} is of a request without an answer`) };
    const taskId = method.startsWith('tasks/') ? taskIdIn(request.params) : undefined;
    const entry: OpenRequest = { method, params: request.params, taskId };
    own.open.set(id, entry);
    // The result of a call that was decided is only collected.
    if (!isDecided(request) || (method === 'tasks/result' && own.tasks.has(taskId))) return PASS;
    const quarantined = this.#quarantined(request);
    if (quarantined !== undefined) {
      own.open.delete(id);
      return { pass: false, answer: isToolCall(request) ? refusalOf(id, quarantined) : errorOf(id, quarantined) };
    }
    const { name, args, tags, withArgs, refusal } = this.#asked(request);
    const cancel = new AbortController();
    own.waiting.set(id, cancel);
    const fromClient = own === this.#ofClient;
    const scope = await this.#scope();
    const decision = await scope.tools.before(
      // Ids are unique in a session and for a side only.
      { id: `${scope.run.id.slice(-12)}:${fromClient ? '' : 'server:'}${id}`, name, args, tags },
      { signal: cancel.signal, waiting: () => (fromClient ? this.#tellOfWaiting(request) : () => undefined) },
    );
    own.waiting.delete(id);
    if (cancel.signal.aborted) {
      // The sender no longer wants a response, and the other side has not received the request.
      own.open.delete(id);
      await scope.tools.after(decision.callId, { error: new Error('cancelled by its sender') });
      return DROP;
    }
    if (decision.verdict === 'BLOCK') {
      own.open.delete(id);
      return { pass: false, answer: refusal(refusalText(decision)) };
    }
    entry.callId = decision.callId;
    return decision.args === args ? PASS : { pass: false, send: withArgs(decision.args) };
  }

  #quarantined(request: Request): string | undefined {
    const { pins } = this.#settings;
    if (isToolCall(request)) return pins?.refuses('tool', request.params.name);
    const name = request.method === 'prompts/get' ? request.params?.name : undefined;
    return typeof name === 'string' ? pins?.refuses('prompt', name) : undefined;
  }

  #asked(request: Request): Asked {
    const { id, method, params = {} } = request;
    if (isToolCall(request)) {
      return {
        name: this.#catalog.nameOf(request.params.name),
        args: request.params.arguments ?? {},
        tags: this.#catalog.tagsOf(request.params.name),
        withArgs: (args) => ({ ...request, params: { ...request.params, arguments: args } }),
        refusal: (text) => refusalOf(id, text),
      };
    }
    const { _meta, ...args } = params;
    return {
      name: this.#catalog.nameOf(method.replaceAll('/', '.')),
      args,
      withArgs: (decided) => ({
        ...request,
        params: { ...(isRecord(decided) ? decided : {}), ...(_meta === undefined ? {} : { _meta }) },
      }),
      refusal: (text) => errorOf(id, text),
    };
  }

  /** Begun with the first call: a client that only looks, or probes for the protocol, makes no run. */
  #scope(): Promise<RunScope> {
    this.#opened ??= this.#open();
    return this.#opened;
  }

  async #open(): Promise<RunScope> {
    const scope = await this.#settings.guard.open(undefined);
    for (const note of this.#notes.splice(0)) scope.run.record(DEFINITION_CHANGED, note);
    scope.signal.addEventListener('abort', () => void this.#killed(scope), { once: true });
    return scope;
  }

  async #answered(id: Id, answer: Message, asking: Requests): Promise<Verdict> {
    const request = asking.open.get(id);
    // Nothing waits for it: it was cancelled, or never asked.
    if (request === undefined) return DROP;
    asking.open.delete(id);
    const { result, error } = answer;
    if (asking === this.#ofClient) {
      if (request.method === 'tools/list') return this.#listed('tools', answer);
      if (request.method === 'prompts/list') return this.#listed('prompts', answer);
      if (request.method === 'initialize' || request.method === 'server/discover') return this.#introduced(answer);
    }
    const { method, taskId } = request;
    let { callId } = request;
    if (taskId !== undefined && method !== 'tasks/result') await this.#heard(result, asking);
    if (taskId !== undefined && callId === undefined && method === 'tasks/result')
      callId = asking.tasks.collect(taskId);
    if (callId === undefined) return PASS;
    // A handle is no result: the call ends with its task.
    if (asking.tasks.begin(result, callId)) return PASS;
    const scope = await this.#scope();
    const { resultType } = result ?? {};
    if (result !== undefined && resultType !== undefined && resultType !== 'complete') {
      // The server asks for something first; the client then repeats the call.
      scope.tools.leave(callId);
      return PASS;
    }
    const failure = error ?? (result?.isError === true ? result.content : undefined);
    const decision = await scope.tools.after(callId, { result, error: failure });
    const held = method === 'prompts/get' ? this.#heldText(request, result) : undefined;
    if (held !== undefined) return { pass: false, send: errorOf(id, held) };
    if (decision?.verdict !== 'BLOCK') return PASS;
    const text = refusalText(decision);
    return {
      pass: false,
      send: /^(?:tools\/call|tasks\/result)$/.test(method) ? refusalOf(id, text) : errorOf(id, text),
    };
  }

  async #heard(said: unknown, asking: Requests): Promise<void> {
    const status = readTaskStatus(said);
    const ended = status === undefined ? undefined : asking.tasks.hear(status);
    if (ended === undefined) return;
    const scope = await this.#scope();
    await scope.tools.after(ended.callId, { error: ended.error });
  }

  /** A client that only lists makes no run: what it would say waits for the first call. */
  readonly #note = (change: Readonly<Record<string, unknown>>): void => {
    if (this.#opened === undefined) this.#notes.push(change);
    else void this.#opened.then((scope) => scope.run.record(DEFINITION_CHANGED, change));
  };

  #listed(list: ListKind, answer: Message): Verdict {
    const { pins, toClient } = this.#settings;
    const changed = () => toClient({ jsonrpc: '2.0', method: `notifications/${list}/list_changed` });
    const seen = pins?.listed(list, answer, changed, this.#note) ?? answer;
    if (list === 'tools') this.#catalog.learn(seen.result);
    return seen === answer ? PASS : { pass: false, send: seen };
  }

  #introduced(answer: Message): Verdict {
    const seen = this.#settings.pins?.introduced(answer, this.#note) ?? answer;
    return seen === answer ? PASS : { pass: false, send: seen };
  }

  #heldText({ params }: OpenRequest, result: Message['result']): string | undefined {
    if (typeof params?.name !== 'string') return undefined;
    return this.#settings.pins?.refusesText(params.name, params.arguments, result, this.#note);
  }

  async #cancelled(id: unknown, own: Requests): Promise<Verdict> {
    const request = isId(id) ? own.open.get(id) : undefined;
    if (!isId(id) || request === undefined) return PASS;
    const waiting = own.waiting.get(id);
    if (waiting !== undefined) {
      waiting.abort(new Error('cancelled by its sender'));
      return DROP;
    }
    own.open.delete(id);
    if (request.callId === undefined) return PASS;
    const scope = await this.#scope();
    await scope.tools.after(request.callId, { error: new Error('cancelled by its sender') });
    return PASS;
  }

  /** An operator stopped the run: the server stops its calls, and the client reads why. */
  async #killed(scope: RunScope): Promise<void> {
    const { toClient, toServer } = this.#settings;
    const { stopped } = scope;
    for (const [id, { callId, method }] of [...this.#ofClient.open]) {
      if (callId === undefined) continue;
      this.#ofClient.open.delete(id);
      const reason = stopped?.message ?? 'the run was stopped';
      const text = stopped === undefined ? reason : refusalText(stopped);
      toServer({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id, reason } });
      toClient(method === 'tools/call' ? refusalOf(id, text) : errorOf(id, text));
      await scope.tools.after(callId, { error: new Error(reason) });
    }
    const reason = stopped?.message ?? 'the run was stopped';
    for (const { taskId, callId } of this.#ofClient.tasks.close()) {
      // No request of a client has this id, so the answer goes nowhere.
      toServer({ jsonrpc: '2.0', id: `agentlens-cancel-${taskId}`, method: 'tasks/cancel', params: { taskId } });
      await scope.tools.after(callId, { error: new Error(reason) });
    }
  }

  /** Clients give up after a minute, unless they hear that something goes on. */
  #tellOfWaiting({ params = {} }: Request): () => void {
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
