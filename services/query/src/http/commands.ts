import type { Command, Problem } from '@agentlens/contracts';
import { BusUnavailable, CommandUnanswered, type EventBus } from '@agentlens/messaging';
import { ProblemException, port } from '@agentlens/platform';
import { Inject, Injectable } from '@nestjs/common';

type Answer<A> = { readonly ok: true; readonly value: A } | { readonly ok: false; readonly problem: Problem };

const RETRY_AFTER_S = 2;
const NOT_ASKED = 'Nothing was changed: send the same request again.';
const NOT_KNOWN =
  'If this was a change, it may or may not have been made. Read it back, then send the same request again.';

/** Forwards writes to the service that owns the data. A rejection by that service becomes the response. */
@Injectable()
export class Commands {
  constructor(@Inject(port('bus')) private readonly bus: EventBus) {}

  /** @throws ProblemException the owner's rejection, or 503 if no owner answered in time */
  async forward<Q, A>(command: Command<Q, Answer<A>>, question: Q): Promise<A> {
    const answer = await this.#ask(command, question);
    if (answer.ok) return answer.value;
    throw ProblemException.from(answer.problem);
  }

  /**
   * Forwards a write whose caller cannot wait.
   * @returns undefined if the owner was asked and has not answered in time: it may still do it
   * @throws ProblemException like `forward`
   */
  async forwardInTime<Q, A>(command: Command<Q, Answer<A>>, question: Q): Promise<A | undefined> {
    let answer: Answer<A>;
    try {
      answer = await this.bus.request(command, question);
    } catch (error) {
      if (error instanceof CommandUnanswered && error.wasAsked) return undefined;
      throw unanswered(error);
    }
    if (answer.ok) return answer.value;
    throw ProblemException.from(answer.problem);
  }

  async #ask<Q, A>(command: Command<Q, A>, question: Q): Promise<A> {
    try {
      return await this.bus.request(command, question);
    } catch (error) {
      throw unanswered(error);
    }
  }
}

/** Other errors keep their class. */
function unanswered(error: unknown): unknown {
  if (!(error instanceof CommandUnanswered || error instanceof BusUnavailable)) return error;
  const changedNothing = error instanceof CommandUnanswered && !error.wasAsked;
  return new ProblemException(503, 'The service that owns this is not answering', {
    hint: changedNothing ? NOT_ASKED : NOT_KNOWN,
    changedNothing,
    headers: { 'retry-after': String(RETRY_AFTER_S) },
  });
}
