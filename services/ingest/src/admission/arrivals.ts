interface Mark {
  readonly atMs: number;
  readonly admitted: number;
}

/** How many events had been let in when. */
export class Arrivals {
  #marks: Mark[] = [];

  /** `admitted` counts all events let in so far. Times only go forward. */
  note(admitted: number, nowMs: number): void {
    this.#marks.push({ atMs: nowMs, admitted });
  }

  /** How many had been let in until then, by linear interpolation. Earlier times are not asked for any more. */
  until(atMs: number): number {
    const after = this.#marks.findIndex((mark) => mark.atMs >= atMs);
    const next = this.#marks[after];
    if (next === undefined) return this.#marks.at(-1)?.admitted ?? 0;
    const before = this.#marks[after - 1];
    if (before === undefined) return next.admitted;
    if (after > 1) this.#marks = this.#marks.slice(after - 1);
    return before.admitted + ((next.admitted - before.admitted) * (atMs - before.atMs)) / (next.atMs - before.atMs);
  }
}
