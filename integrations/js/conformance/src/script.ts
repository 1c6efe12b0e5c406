import type { ToolUse, Turn } from './driver.ts';

/** Responses of the scripted model, turn by turn, and the requests it received. */
export class Script {
  readonly requests: string[] = [];
  readonly #turns: readonly Turn[];

  constructor(turns: readonly Turn[]) {
    this.#turns = turns;
  }

  /** Returns the next turn; repeats the last one if the framework asks again. @throws the turn if it is an error */
  next(request: unknown): readonly (string | ToolUse)[] {
    const turn = this.#turns[Math.min(this.requests.length, this.#turns.length - 1)] ?? [];
    this.requests.push(typeof request === 'string' ? request : JSON.stringify(request));
    if (turn instanceof Error) throw turn;
    return turn;
  }
}
