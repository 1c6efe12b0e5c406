import { AgentError } from '../core/agent-error.ts';
import type { InputMessage } from '../core/input-message.ts';

interface Waiter {
  readonly accepts: (message: InputMessage) => boolean;
  readonly resolve: (message: InputMessage) => void;
}

/** Input that waits for an agent. A receiver takes the first message it accepts; the others keep their places. */
export class Inbox {
  readonly #capacity: number;
  readonly #messages: InputMessage[] = [];
  readonly #waiters: Waiter[] = [];
  #ended: InputMessage | null = null;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  /** @throws AgentError `capacity` when too much waits */
  put(message: InputMessage): void {
    const at = this.#waiters.findIndex(({ accepts }) => accepts(message));
    const [waiter] = at === -1 ? [] : this.#waiters.splice(at, 1);
    if (waiter !== undefined) waiter.resolve(message);
    // An interrupt is heard however much waits.
    else if (this.#messages.length >= this.#capacity && message.type !== 'interrupt')
      throw new AgentError('capacity', 'the agent has too much input waiting');
    else this.#messages.push(message);
  }

  /** The first waiting message that fits, if there is one. */
  take(accepts: (message: InputMessage) => boolean): InputMessage | undefined {
    const at = this.#messages.findIndex(accepts);
    return at === -1 ? undefined : this.#messages.splice(at, 1)[0];
  }

  /** After `end` every receiver gets the last message. */
  receive(accepts: (message: InputMessage) => boolean = () => true): Promise<InputMessage> {
    if (this.#ended !== null) return Promise.resolve(this.#ended);
    const waiting = this.take(accepts);
    if (waiting !== undefined) return Promise.resolve(waiting);
    return new Promise((resolve) => this.#waiters.push({ accepts, resolve }));
  }

  end(last: InputMessage): void {
    this.#ended = last;
    for (const { resolve } of this.#waiters.splice(0)) resolve(last);
  }
}
