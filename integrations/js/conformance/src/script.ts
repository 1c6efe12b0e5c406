import type { ToolUse, Turn } from './driver.ts';

/** What the scripted model answers, turn by turn, and what it was sent. */
export class Script {
  readonly requests: string[] = [];
  readonly #turns: readonly Turn[];

  constructor(turns: readonly Turn[]) {
    this.#turns = turns;
  }

  /** @throws the error that the turn is; the last turn is repeated if the framework asks again */
  next(request: unknown): readonly (string | ToolUse)[] {
    const turn = this.#turns[Math.min(this.requests.length, this.#turns.length - 1)] ?? [];
    this.requests.push(typeof request === 'string' ? request : JSON.stringify(request));
    if (turn instanceof Error) throw turn;
    return turn;
  }
}
