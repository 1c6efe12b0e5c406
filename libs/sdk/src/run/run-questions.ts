import type { Decision } from '../wire/decision.ts';
import type { Decider, Question, Subjectivity } from './decider.ts';

type Metrics = Readonly<Record<string, number>>;

/** What a run asks about its calls. Tells with each question the tokens used since the server last heard of any. */
export class RunQuestions {
  readonly #decider: Decider;
  readonly #about: Subjectivity;
  #tokensIn = 0;
  #tokensOut = 0;

  constructor(decider: Decider, about: Subjectivity) {
    this.#decider = decider;
    this.#about = about;
  }

  used(tokensIn: number, tokensOut: number): void {
    this.#tokensIn += tokensIn;
    this.#tokensOut += tokensOut;
  }

  /** May this call begin? An answer the server gave is proof that it heard of the tokens. */
  async before(question: Question, metrics: Metrics = {}): Promise<Decision> {
    const [tokensIn, tokensOut] = [this.#tokensIn, this.#tokensOut];
    const told = { llm_tokens_in: tokensIn, llm_tokens_out: tokensOut, ...metrics };
    const decision = await this.#decider.decide(this.#about, { ...question, metrics: told });
    if (decision.source === 'remote') this.used(-tokensIn, -tokensOut);
    return decision;
  }

  /** May its result be used? */
  after(question: Question): Promise<Decision> {
    return this.#decider.decide(this.#about, question);
  }
}
