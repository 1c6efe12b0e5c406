import type { Decision } from '../wire/decision.ts';
import type { DecidedRun, Decider, DecisionQuestion } from './decider.ts';

/**
 * Remembers the refusal that ended the run: a terminating rule or failing closed. Operator orders and breakers are not
 * remembered, because each can be lifted.
 */
class RunStop {
  #decision: Decision | undefined;
  #isHeld = false;

  get decision(): Decision | undefined {
    return this.#decision;
  }

  /** Whether the last call was refused because the run must stop, by a rule, an order or the breaker. */
  get isHeld(): boolean {
    return this.#isHeld;
  }

  /** Repeats the refusal for another call of the run; undefined while the run goes on. */
  repeated({ phase, callId, args }: DecisionQuestion): Decision | undefined {
    return this.#decision === undefined ? undefined : { ...this.#decision, phase, callId, args, source: 'local' };
  }

  noted(decision: Decision): Decision {
    if (decision.verdict === 'ALLOW' && decision.phase !== 'tool.after') this.#isHeld = false;
    if (terminates(decision) && decision.cause.kind !== 'HITL_PENDING') this.#isHeld = true;
    if (this.#decision === undefined && endsTheRun(decision)) this.#decision = decision;
    return decision;
  }
}

const terminates = ({ verdict, control }: Decision) => verdict === 'BLOCK' && control === 'TERMINATE';

function endsTheRun(decision: Decision): boolean {
  return terminates(decision) && (decision.cause.kind === 'RULE_VIOLATION' || decision.source === 'fallback');
}

type Metrics = Readonly<Record<string, number>>;

/** Decision requests of a run. Each request reports the tokens used since the last one that the server received. */
export class RunQuestions {
  readonly #decider: Decider;
  readonly #about: DecidedRun;
  readonly #stop = new RunStop();
  /** Called for each call without a decision. */
  readonly #bypassed: (decision: Decision, question: DecisionQuestion) => void;
  #tokensIn = 0;
  #tokensOut = 0;

  constructor(decider: Decider, about: DecidedRun, bypassed: (decision: Decision, question: DecisionQuestion) => void) {
    this.#bypassed = bypassed;
    this.#decider = decider;
    this.#about = about;
  }

  /** The refusal that ended the run; no further decisions are requested. */
  get stopped(): Decision | undefined {
    return this.#stop.decision;
  }

  /** Whether the last call was refused because the run must stop. */
  get isHeld(): boolean {
    return this.#stop.isHeld;
  }

  used(tokensIn: number, tokensOut: number): void {
    this.#tokensIn += tokensIn;
    this.#tokensOut += tokensOut;
  }

  /** Decides whether a call may start. A response proves that the server received the reported tokens. */
  async before(question: DecisionQuestion, metrics: Metrics = {}): Promise<Decision> {
    const [tokensIn, tokensOut] = [this.#tokensIn, this.#tokensOut];
    const reported = { llm_tokens_in: tokensIn, llm_tokens_out: tokensOut, ...metrics };
    const decision = await this.#decide({ ...question, metrics: reported });
    if (decision.source === 'remote') this.used(-tokensIn, -tokensOut);
    return decision;
  }

  /** Decides whether a result may be used. */
  after(question: DecisionQuestion): Promise<Decision> {
    return this.#decide(question);
  }

  async #decide(question: DecisionQuestion): Promise<Decision> {
    const repeated = this.#stop.repeated(question);
    if (repeated !== undefined) return repeated;
    const decision = await this.#decider.decide(this.#about, question);
    if (decision.bypass !== undefined) this.#bypassed(decision, question);
    return this.#stop.noted(decision);
  }
}
