/** How long one piece of work may block the event loop. A decision passes through the loop several times. */
const SLICE_MS = 2;

/** Pause between two slices that parse large bodies, so that they use at most a third of the thread under load. */
const REST_MS = 4;

type Schedule = (callback: () => void) => unknown;

/** Queue of long work that waits to continue. Resumes one piece at a time, oldest first. */
class Turns {
  readonly #schedule: Schedule;
  readonly #waiting: (() => void)[] = [];
  #isScheduled = false;

  constructor(schedule: Schedule) {
    this.#schedule = schedule;
  }

  next(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.push(resolve);
    this.#resumeLater();
    return promise;
  }

  #resumeLater(): void {
    if (this.#isScheduled || this.#waiting.length === 0) return;
    this.#isScheduled = true;
    this.#schedule(() => {
      this.#isScheduled = false;
      this.#waiting.shift()?.();
      this.#resumeLater();
    });
  }
}

const everyTurn = new Turns((callback) => setImmediate(callback));
const withRests = new Turns((callback) => setTimeout(callback, REST_MS));

/**
 * Runs work in small steps without blocking the event loop: after 2 ms it waits for a later turn. All work of the
 * process shares the turns, so one slice runs per turn regardless of the number of requests.
 */
export function runInSlices<T>(steps: Generator<void, T>): Promise<T> {
  return run(steps, everyTurn);
}

/** The same with pauses between slices, for parsing a body that may turn out to be invalid. */
export function readInSlices<T>(steps: Generator<void, T>): Promise<T> {
  return run(steps, withRests);
}

async function run<T>(steps: Generator<void, T>, turns: Turns): Promise<T> {
  let sliceEndsAt = performance.now() + SLICE_MS;
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    if (performance.now() < sliceEndsAt) continue;
    await turns.next();
    sliceEndsAt = performance.now() + SLICE_MS;
  }
}

/** `items.map(work)` in slices. A single call of `work` is not interrupted. */
export async function mapInSlices<T, R>(items: readonly T[], work: (item: T, index: number) => R): Promise<R[]> {
  const done: R[] = [];
  let sliceEndsAt = performance.now() + SLICE_MS;
  for (let index = 0; index < items.length; index++) {
    if (index > 0 && performance.now() >= sliceEndsAt) {
      await everyTurn.next();
      sliceEndsAt = performance.now() + SLICE_MS;
    }
    done.push(work(items[index] as T, index));
  }
  return done;
}

/** Resolves when this work may continue. */
export function nextSlice(): Promise<void> {
  return everyTurn.next();
}
