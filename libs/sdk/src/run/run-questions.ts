import type { Decision } from '../wire/decision.ts';
import type { Decider, DecisionQuestion, Subjectivity } from './decider.ts';

/**
 * Remembers the refusal that ended the run: a rule that terminates, or failing closed. An operator's order, a breaker
 * and a question to a human are not remembered, because each of them can be lifted.
 */
class RunStop {
  #decision: Decision | undefined;

  get decision(): Decision | undefined {
    return this.#decision;
  }

  /** The same refusal for another call of the run; undefined while the run goes on. */
  repeated({ phase, callId, args }: DecisionQuestion): Decision | undefined {
    return this.#decision === undefined ? undefined : { ...this.#decision, phase, callId, args, source: 'local' };
  }

  noted(decision: Decision): Decision {
    if (this.#decision === undefined && endsTheRun(decision)) this.#decision = decision;
    return decision;
  }
}

function endsTheRun({ verdict, control, cause, source }: Decision): boolean {
  if (verdict !== 'BLOCK' || control !== 'TERMINATE') return false;
  return cause.kind === 'RULE_VIOLATION' || source === 'fallback';
}

type Metrics = Readonly<Record<string, number>>;

/** What a run asks about its calls. Tells with each question the tokens used since the server last heard of any. */
export class RunQuestions {
  readonly #decider: Decider;
  readonly #about: Subjectivity;
  readonly #stop = new RunStop();
  /** Told of each call that nobody decided about. */
  readonly #bypassed: (decision: Decision, question: DecisionQuestion) => void;
  #tokensIn = 0;
  #tokensOut = 0;

  constructor(
    decider: Decider,
    about: Subjectivity,
    bypassed: (decision: Decision, question: DecisionQuestion) => void,
  ) {
    this.#bypassed = bypassed;
    this.#decider = decider;
    this.#about = about;
  }

  /** The refusal that ended the run; none is asked about after it. */
  get stopped(): Decision | undefined {
    return this.#stop.decision;
  }

  used(tokensIn: number, tokensOut: number): void {
    this.#tokensIn += tokensIn;
    this.#tokensOut += tokensOut;
  }

  /** May this call begin? An answer the server gave is proof that it heard of the tokens. */
  async before(question: DecisionQuestion, metrics: Metrics = {}): Promise<Decision> {
    const [tokensIn, tokensOut] = [this.#tokensIn, this.#tokensOut];
    const told = { llm_tokens_in: tokensIn, llm_tokens_out: tokensOut, ...metrics };
    const decision = await this.#decide({ ...question, metrics: told });
    if (decision.source === 'remote') this.used(-tokensIn, -tokensOut);
    return decision;
  }

  /** May its result be used? */
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
