import { homedir } from 'node:os';
import {
  ContractError,
  type HookAnswer,
  type HookEvent,
  type HostContract,
  type HostId,
  type JsonRecord,
  type ModelUsage,
  PASS,
  type ToolUse,
} from '../hosts/host.ts';
import { HOSTS } from '../hosts/index.ts';
import { redactArguments, redactText, signatureOf } from '../judge/redact.ts';
import { absolute, tagsOf } from '../judge/tags.ts';
import { changedInput, type GuardedCall, guardedCall } from '../judge/tools.ts';
import { DEFAULT_SETTINGS, type GuardPaths, type HostSettings } from '../state.ts';
import { UsageClaims } from '../transcripts/claims.ts';
import { findTranscripts, Usage } from '../transcripts/usage.ts';
import { ALARMS, findAlarm, meaningOf, ranAnother } from './alarms.ts';
import { NoDecision, type PlatformDecision } from './platform.ts';
import { predatesGuard } from './predates.ts';
import { secretEnvironment } from './processes.ts';
import { type AskedCall, type GuardedSession, increase, type Latch } from './session.ts';
import { type SessionDependencies, Sessions } from './sessions.ts';

export interface GuardDependencies extends SessionDependencies {
  readonly paths: GuardPaths;
  /** Time between two questions about a call that waits for a person. */
  readonly pollMs?: number;
}

/** One hook call, as the launcher sends it. */
export interface HookCall {
  readonly host: HostId;
  readonly event: string;
  readonly input: JsonRecord;
  readonly parentPid: number | undefined;
}

export interface HookReply {
  /** What the hook prints. */
  readonly output: string;
  /** The reason of a refusal that the hook also says by its exit code and on standard error. */
  readonly refusal?: string;
}

const POLL_MS = 2_000;
const UNDECIDED = 'AgentLens could not decide about this call, so it is refused';

/** Decides about the calls of all sessions on this machine, and reports what they did. */
export class Guard {
  readonly #deps: GuardDependencies;
  readonly #sessions: Sessions;
  readonly #working = new Set<Promise<void>>();
  readonly #usage: Usage;
  #lastProblem: string | undefined;
  lastCallAt: number;

  constructor(deps: GuardDependencies) {
    this.#deps = deps;
    this.#sessions = new Sessions(deps);
    this.#usage = new Usage(new UsageClaims(deps.journal, deps.now));
    this.lastCallAt = deps.now();
  }

  get hasLiveHosts(): boolean {
    return this.#sessions.hasLiveHosts;
  }

  get status(): JsonRecord {
    const { outbox } = this.#deps;
    const counts = { sessions: this.#sessions.size, spooledBytes: outbox.spooled, dropped: outbox.dropped };
    return { ...counts, lastCallAt: this.lastCallAt, orders: this.#sessions.feeds, problem: this.#lastProblem };
  }

  async handle(call: HookCall): Promise<HookReply> {
    this.lastCallAt = this.#deps.now();
    const contract = HOSTS[call.host];
    const settings = this.#deps.config()?.hosts[call.host] ?? DEFAULT_SETTINGS;
    let event: HookEvent | null;
    try {
      event = contract.read(call.event, call.input);
    } catch (error) {
      if (!(error instanceof ContractError)) throw error;
      return this.#brokenContract(contract, call, settings, error);
    }
    if (event === null) return reply(contract, { kind: 'turn-end', name: call.event, session: '-' }, PASS);
    const session = this.#sessions.of(contract, settings, event, call.parentPid);
    return reply(contract, event, await this.#answer(contract, settings, session, event));
  }

  sweep(): void {
    this.#background(this.#sessions.sweep());
  }

  async close(): Promise<void> {
    this.#sessions.close();
    await Promise.all(this.#working);
    await this.#deps.outbox.flush();
  }

  async #answer(
    contract: HostContract,
    settings: HostSettings,
    session: GuardedSession,
    event: HookEvent,
  ): Promise<HookAnswer> {
    const enforced = settings.mode === 'enforce';
    if (event.kind === 'after') return this.#after(settings, session, event);
    session.seen = true;
    switch (event.kind) {
      case 'before': {
        const answering = this.#before(contract, settings, session, event);
        if (enforced) return answering;
        this.#background(answering);
        return PASS;
      }
      case 'prompt':
        return enforced ? this.#prompt(settings, session) : PASS;
      case 'settings-change':
        this.#alarm(settings, session, 'tampered', {});
        return enforced ? deny('AgentLens keeps its hooks during this session: the change is not applied.') : PASS;
      case 'session-start':
      case 'sub-agent-start':
        this.#background(this.#sessions.ensureStarted(session, settings));
        return PASS;
      case 'turn-end':
        if (event.usage !== undefined) this.#reportUsage(session, [event.usage]);
        this.#readUsage(session, true);
        return PASS;
      case 'sub-agent-end':
      case 'session-end':
        this.#readUsage(session, true);
        // The host waits for the hook, but not for the platform.
        this.#background(this.#sessions.end(session));
        return PASS;
    }
  }

  async #before(
    contract: HostContract,
    settings: HostSettings,
    session: GuardedSession,
    event: HookEvent,
  ): Promise<HookAnswer> {
    const { use } = event;
    if (use === undefined) return PASS;
    const enforced = settings.mode === 'enforce';
    const call = guardedCall(use);
    const { args, changed, tags } = this.#judge(session, event, use, call);
    const sig = signatureOf(use.name, use.input);
    const hostId = session.nextCall(use, sig);
    // A person may have decided since the last time this call was asked about.
    const platformId = session.openQuestions.get(sig) ?? hostId;
    const asked: AskedCall = { platformId, reported: false, sig, meaning: meaningOf(use) };
    session.calls.set(hostId, asked);
    const settle = (answer: HookAnswer, note?: string): HookAnswer => {
      const given = enforced ? answer : PASS;
      asked.answer = given.kind === 'deny' ? 'deny' : 'allow';
      if (asked.answer === 'allow') {
        increase(session.allowed, sig);
        if (tags.includes('write') && typeof call.args.path === 'string')
          session.written.add(absolute(call.args.path, { project: session.project, guardFolder: '' }));
      }
      const line = { k: 'ask', call: hostId, sig, tool: call.tool, as: platformId, answer: asked.answer } as const;
      this.#sessions.write(session, { ...line, note: given === answer ? note : `would ${answer.kind}` });
      return given;
    };
    const { stopped } = session;
    // A pause ends without a message if the stream is interrupted, so the platform is asked.
    if (stopped !== undefined && stopped.by !== 'pause' && enforced) return settle(stoppedAnswer(stopped), stopped.by);
    try {
      await this.#sessions.ensureStarted(session, settings);
      this.#readUsage(session, false);
      const question = {
        ...{ phase: 'tool.before', agentId: session.agentId, sessionId: session.id, callId: platformId },
        ...{ tool: { name: call.tool, tags }, args, actor: this.#sessions.actor },
      };
      const decision = await this.#ask(session, settings, question, sig);
      const answer = this.#follow(contract, session, decision, { use, args, changed });
      if (answer.kind === 'change' && enforced) this.#changed(session, use, asked, answer.input);
      return settle(answer);
    } catch (error) {
      if (!(error instanceof NoDecision)) throw error;
      this.#problem(error);
      if (settings.fail === 'open') return settle(PASS, 'undecided');
      return settle(deny(`${UNDECIDED}: ${error.message}. Tell the user.`), 'undecided');
    }
  }

  /** From now on the changed call is the allowed one. */
  #changed(session: GuardedSession, use: ToolUse, asked: AskedCall, input: JsonRecord): void {
    const sig = signatureOf(use.name, input);
    // Hosts without call ids report the changed call.
    if (use.id === undefined) session.allowAlso(sig, asked.platformId);
    asked.sig = sig;
    asked.meaning = meaningOf({ ...use, input });
    this.#sessions.write(session, { k: 'change', call: use.id, sig });
  }

  #judge(session: GuardedSession, event: HookEvent, use: ToolUse, call: GuardedCall) {
    const { paths, config } = this.#deps;
    const { project, written, host } = session;
    const withholdContent = config()?.content === 'none';
    const values = secretEnvironment(session.hookParent);
    const redacted = redactArguments(call.args, { withholdContent, isShell: call.tool === 'shell', values });
    const tags = tagsOf(use, call, { project, written, guardFolder: paths.folder, cwd: event.cwd });
    const all = [...tags, `host:${host}`, ...(redacted.found ? ['secret-value'] : [])];
    return { args: redacted.args, changed: redacted.changed, tags: all };
  }

  /** Asks, and asks again while a person decides. */
  async #ask(
    session: GuardedSession,
    settings: HostSettings,
    question: JsonRecord,
    sig: string,
  ): Promise<PlatformDecision> {
    const { client, now, pollMs = POLL_MS } = this.#deps;
    const until = now() + settings.wait * 1_000;
    for (;;) {
      const decision = await client.evaluate(session.runId, question);
      if (decision.cause !== 'HITL_PENDING') {
        session.openQuestions.delete(sig);
        return decision;
      }
      if (!session.openQuestions.has(sig)) {
        const platformId = String(question.callId);
        session.openQuestions.set(sig, platformId);
        this.#sessions.write(session, { k: 'open', sig, as: platformId, note: decision.approvalId ?? '' });
      }
      const isStopped = session.stopped !== undefined && session.stopped.by !== 'pause';
      if (settings.mode !== 'enforce' || isStopped || now() >= until) return decision;
      await this.#sessions.wait(Math.min(pollMs, Math.max(until - now(), 0)));
    }
  }

  #follow(
    { changesArguments, title }: HostContract,
    session: GuardedSession,
    decision: PlatformDecision,
    call: { readonly use: ToolUse; readonly args: JsonRecord; readonly changed: boolean },
  ): HookAnswer {
    if (decision.allow) {
      if (decision.modifiedArgs === undefined) return PASS;
      // Arguments that were redacted on the way out cannot be put back.
      const input = call.changed ? null : changedInput(call.use, call.args, decision.modifiedArgs);
      if (changesArguments && input !== null) return { kind: 'change', input };
      return deny(`A rule would change the arguments of this call, which ${title} does not support here.`);
    }
    switch (decision.cause) {
      case 'HITL_PENDING': {
        if (session.stopped !== undefined) return stoppedAnswer(session.stopped);
        const id = decision.approvalId === undefined ? '' : ` ${decision.approvalId}`;
        return deny(`This call needs the approval${id}, which is still open. Do not try it again; tell the user.`);
      }
      case 'LOCKDOWN':
        return deny(decision.message, true);
      default:
        if (!decision.terminate) return deny(decision.message);
        this.#sessions.latch(session, { by: 'rule', reason: decision.message });
        return deny(decision.message, true);
    }
  }

  async #after(settings: HostSettings, session: GuardedSession, event: HookEvent): Promise<HookAnswer> {
    const { use, outcome } = event;
    if (use === undefined || outcome === undefined) return PASS;
    const sig = signatureOf(use.name, use.input);
    const mayBeOlder = !session.seen && predatesGuard(session, this.#deps.paths);
    session.seen = true;
    if (outcome.ok) increase(session.reported, sig);
    const hostId = use.id ?? session.unreported(sig);
    const asked = session.calls.get(hostId);
    const { tool } = guardedCall(use);
    this.#sessions.write(session, { k: 'result', call: hostId, sig, tool, ok: outcome.ok });
    const details = { callId: asked?.platformId ?? hostId, tool: { name: tool } };
    const alarm = outcome.ok && !mayBeOlder ? findAlarm(session, use.id, sig, asked) : undefined;
    if (alarm !== undefined) this.#alarm(settings, session, alarm, details);
    if (ranAnother(asked, use)) await this.#askedToo(settings, session, event, use);
    // A host reports a refusal as a failed call, which never ran.
    if (asked?.answer !== 'deny') {
      const { ok, error = 'failed', exitCode, durationMs, bytes } = outcome;
      const measured = { durationMs, exitCode, bytes, outcome: ok ? 'success' : 'error' };
      const failure = ok
        ? {}
        : { error: { name: 'tool', message: redactText(error, secretEnvironment(session.hookParent)) } };
      this.#sessions.send(session, `result:${hostId}`, 'tool.result', { ...details, ...measured, ...failure });
    }
    if (asked !== undefined) asked.reported = true;
    this.#readUsage(session, true);
    const { stopped } = session;
    return stopped !== undefined && settings.mode === 'enforce' ? stoppedAnswer(stopped) : PASS;
  }

  /** Records the call that ran instead of the decided one, and asks about it: a refusal was then ignored. */
  async #askedToo(settings: HostSettings, session: GuardedSession, event: HookEvent, use: ToolUse): Promise<void> {
    const call = guardedCall(use);
    const { args, tags } = this.#judge(session, event, use, call);
    const callId = `${use.id ?? ''}:ran`;
    const details = { callId, tool: { name: call.tool, tags }, args };
    const isFirst = !session.sawChange;
    session.sawChange = true;
    this.#alarm(settings, session, 'call-changed', { ...details, denyIgnored: isFirst ? 1 : 0 });
    const { agentId, id: sessionId } = session;
    const question = { ...details, phase: 'tool.before', agentId, sessionId, actor: this.#sessions.actor };
    try {
      await this.#sessions.ensureStarted(session, settings);
      const decision = await this.#deps.client.evaluate(session.runId, question);
      if (!decision.allow) this.#alarm(settings, session, 'deny-ignored', details);
    } catch (error) {
      if (!(error instanceof NoDecision)) throw error;
      this.#problem(error);
      if (settings.fail === 'closed') this.#alarm(settings, session, 'not-asked', details);
    }
  }

  /** Refuses a prompt to a session that is stopped. The prompt itself does not leave the machine. */
  async #prompt(settings: HostSettings, session: GuardedSession): Promise<HookAnswer> {
    const { stopped } = session;
    if (stopped !== undefined && stopped.by !== 'pause') return stoppedAnswer(stopped);
    try {
      await this.#sessions.ensureStarted(session, settings);
      const { agentId, id: sessionId } = session;
      const question = { phase: 'llm.before', agentId, sessionId, actor: this.#sessions.actor };
      const decision = await this.#deps.client.evaluate(session.runId, question);
      return decision.allow || decision.cause === 'HITL_PENDING' ? PASS : deny(decision.message, true);
    } catch (error) {
      if (!(error instanceof NoDecision)) throw error;
      // Each call of this turn is decided by itself.
      this.#problem(error);
      return PASS;
    }
  }

  #brokenContract(contract: HostContract, call: HookCall, settings: HostSettings, error: ContractError): HookReply {
    this.#problem(new Error(`${contract.title} ${call.event}: ${error.message}`));
    if (contract.events[call.event] !== 'before' || settings.mode !== 'enforce') return { output: '' };
    const reason = `${UNDECIDED}: ${error.message}. Run "agentlens guard doctor ${contract.id}".`;
    return reply(contract, { kind: 'before', name: call.event, session: '-' }, deny(reason));
  }

  #alarm(settings: HostSettings, session: GuardedSession, name: keyof typeof ALARMS, details: JsonRecord): void {
    const callId = typeof details.callId === 'string' ? details.callId : undefined;
    this.#sessions.write(session, { k: 'alarm', note: name, call: callId });
    this.#sessions.send(session, `alarm:${name}:${callId ?? this.#deps.now()}`, 'error', {
      ...{ fatal: true, reason: name, message: ALARMS[name], hostVersion: settings.version },
      ...(name === 'tampered' ? {} : { denyIgnored: 1 }),
      ...details,
    });
    this.#background(this.#deps.outbox.flush());
    // A harmless change raises an alert and stops nothing.
    if (settings.mode === 'enforce' && name !== 'tampered' && name !== 'call-changed')
      this.#sessions.latch(session, { by: name, reason: ALARMS[name] });
  }

  #readUsage(session: GuardedSession, whole: boolean): void {
    try {
      for (const file of listTranscripts(session)) this.#reportUsage(session, this.#usage.read(session, file, whole));
    } catch (error) {
      this.#problem(error);
    }
  }

  #reportUsage(session: GuardedSession, calls: readonly ModelUsage[]): void {
    for (const { id, model, input, output, cacheRead, cacheWrite, cacheWriteHour, tier, costUsd } of calls) {
      session.model = model ?? session.model;
      const cached = { cacheRead, cacheWrite, cacheWrite1h: cacheWriteHour || undefined };
      this.#sessions.send(session, id, 'llm.result', {
        ...{ model: session.model, callId: id, costUsd, serviceTier: tier },
        tokens: { in: input + cacheRead + cacheWrite, out: output, ...cached },
      });
    }
  }

  /** Work that the host does not wait for. */
  #background(work: Promise<unknown>): void {
    const tracked = work.then(
      () => undefined,
      (error) => this.#problem(error),
    );
    this.#working.add(tracked);
    void tracked.finally(() => this.#working.delete(tracked));
  }

  #problem(error: unknown): void {
    this.#lastProblem = error instanceof Error ? error.message : String(error);
    this.#deps.log(this.#lastProblem);
  }
}

/** Where the host records the session, as its hooks say or its contract does. */
function listTranscripts({ host, id, transcript }: GuardedSession): readonly string[] {
  if (transcript !== undefined) return [transcript];
  const { transcripts } = HOSTS[host];
  return transcripts === undefined ? [] : findTranscripts(homedir(), transcripts, id);
}

/** A shell that prints a line of its own spoils the output of a hook, but not its exit code. */
function reply(contract: HostContract, event: HookEvent, answer: HookAnswer): HookReply {
  const output = contract.say(event, answer);
  const byExit = answer.kind === 'deny' && contract.refusesByExit?.(event, answer) === true;
  return byExit ? { output, refusal: answer.reason } : { output };
}

function deny(reason: string, stop = false): HookAnswer {
  return { kind: 'deny', reason, stop };
}

function stoppedAnswer({ reason }: Latch): HookAnswer {
  return deny(`${reason}. This session is stopped: end your work and tell the user.`, true);
}
