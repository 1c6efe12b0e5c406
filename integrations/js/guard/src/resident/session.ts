import type { HostContract, HookEvent, HostId, ToolUse } from '../hosts/host.ts';
import type { JournalLine } from '../state.ts';

/** Why a session is stopped. `order` follows the operator; the others stay until the session ends. */
export interface Latch {
  readonly by: 'order' | 'pause' | 'rule' | 'deny-ignored' | 'not-asked';
  readonly reason: string;
}

export interface AskedCall {
  readonly platformId: string;
  /** Undefined while the question is open. */
  answer?: 'allow' | 'deny';
  reported: boolean;
  /** Signature of the call that may run, as the host names it. */
  sig?: string;
  /** The same in the common names; unknown after a restart. */
  meaning?: string;
}

/** What the resident knows about one session or sub-agent of a host. */
export class GuardedSession {
  readonly host: HostId;
  readonly id: string;
  readonly runId: string;
  readonly agentId: string;
  /** Id of the sub-agent; undefined for the session itself. */
  readonly agent: string | undefined;
  /** The call that started the sub-agent, on hosts that name it. */
  readonly toolUseId: string | undefined;
  readonly parent: GuardedSession | undefined;
  /** Calls by the host's id, or by signature and number on hosts without ids. */
  readonly calls = new Map<string, AskedCall>();
  /** Platform ids of questions that timed out while they waited for a person, by signature. */
  readonly openQuestions = new Map<string, string>();
  /** Absolute paths of files that this session wrote. */
  readonly written = new Set<string>();
  readonly asked = new Map<string, number>();
  readonly allowed = new Map<string, number>();
  readonly reported = new Map<string, number>();
  /** Resolves when the platform knows the run; replaced after a failed attempt. */
  started: Promise<void> | undefined;
  latch: Latch | undefined;
  ended = false;
  /** Whether a call of the session was changed after its decision. */
  sawChange = false;
  /** The process that started the last hook; it has the environment of the session. */
  hookParent: number | undefined;
  /** Whether anything was known of the session before its first result arrived. */
  seen = false;
  project: string | undefined;
  transcript: string | undefined;
  model: string | undefined;

  constructor(contract: HostContract, agentId: string, event: HookEvent, parent: GuardedSession | undefined) {
    this.host = contract.id;
    this.id = event.session;
    this.agentId = agentId;
    this.parent = parent;
    this.agent = event.subAgent?.id;
    this.toolUseId = event.subAgent?.toolUseId;
    this.runId = runIdOf(contract, event);
  }

  /** The latch of the session or of the nearest ancestor that has one. */
  get stopped(): Latch | undefined {
    return this.latch ?? this.parent?.stopped;
  }

  /** Takes over what an event says about the session. */
  refresh({ cwd, transcript, model, kind }: HookEvent): void {
    this.project ??= cwd;
    this.transcript = transcript ?? this.transcript;
    this.model = model ?? this.model;
    this.ended = this.ended && kind === 'session-end';
  }

  /** Name of the next question for a call, and the counters that hosts without ids need. */
  nextCall(use: ToolUse, signature: string): string {
    const number = (this.asked.get(signature) ?? 0) + 1;
    this.asked.set(signature, number);
    return use.id ?? `${signature}-${number}`;
  }

  /** Name of the first allowed call with this signature that has no result yet. */
  unreported(signature: string): string {
    for (let number = 1; number <= (this.asked.get(signature) ?? 0); number++) {
      const name = `${signature}-${number}`;
      const call = this.calls.get(name);
      if (call?.answer === 'allow' && !call.reported) return name;
    }
    return `${signature}-${(this.reported.get(signature) ?? 0) + 1}-unasked`;
  }

  /** The host reports this call instead of the one it asked about. */
  allowAlso(signature: string, platformId: string): void {
    increase(this.asked, signature);
    increase(this.allowed, signature);
    const name = `${signature}-${this.asked.get(signature) ?? 1}`;
    this.calls.set(name, { platformId, answer: 'allow', reported: false });
  }

  /** Takes up what a resident before this one wrote down. */
  restore(lines: Iterable<JournalLine>): void {
    for (const line of lines) {
      this.seen = true;
      const { sig = '', call, as } = line;
      switch (line.k) {
        case 'ask': {
          increase(this.asked, sig);
          const answer = line.answer === 'deny' ? 'deny' : 'allow';
          if (answer === 'allow') increase(this.allowed, sig);
          if (call !== undefined) this.calls.set(call, { platformId: as ?? call, answer, reported: false, sig });
          break;
        }
        case 'result': {
          if (line.ok === true) increase(this.reported, sig);
          const known = call === undefined ? undefined : this.calls.get(call);
          if (known !== undefined) known.reported = true;
          break;
        }
        case 'change': {
          const changed = call === undefined ? undefined : this.calls.get(call);
          if (changed !== undefined) changed.sig = sig;
          break;
        }
        case 'open':
          if (as !== undefined) this.openQuestions.set(sig, as);
          break;
        case 'latch':
          // The platform repeats orders that still stand.
          if (line.answer === 'order' || line.answer === 'pause') break;
          this.latch = { by: (line.answer ?? 'rule') as Latch['by'], reason: line.note ?? 'stopped' };
          break;
        case 'unlatch':
          this.latch = undefined;
          break;
        default:
      }
    }
  }
}

export function runIdOf(contract: HostContract, { session, subAgent }: HookEvent): string {
  const root = `${contract.prefix}-${session}`;
  return subAgent === undefined ? root : `${root}.${subAgent.id}`;
}

export function increase(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
}
