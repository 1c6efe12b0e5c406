import type { Output } from '../../output/output.ts';
import type { Tone } from '../../output/style.ts';
import { plainText } from '../../output/table.ts';

/** Cleanup tasks, run in reverse order when the demo ends or is interrupted. */
export class CleanupList {
  readonly #tasks: (() => unknown)[] = [];

  add(task: () => unknown): void {
    this.#tasks.push(task);
  }

  /** Runs all tasks. @returns the errors of the tasks that failed */
  async run(): Promise<unknown[]> {
    const failures: unknown[] = [];
    for (const task of this.#tasks.splice(0).reverse()) {
      try {
        await task();
      } catch (error) {
        failures.push(error);
      }
    }
    return failures;
  }
}

/** Prints the demo: speaker, time and text. */
export class DemoScreen {
  readonly #output: Output;
  readonly #startedMs = performance.now();

  constructor(output: Output) {
    this.#output = output;
  }

  chapter(title: string): void {
    this.#output.printItem({ chapter: title }, () => `\n${this.#output.paint('strong', title)}`);
  }

  agent(text: string): void {
    this.#line('agent', undefined, text);
  }

  event(text: string, isError: boolean): void {
    this.#line('event', isError ? 'bad' : 'quiet', text);
  }

  guardrail(text: string): void {
    this.#line('guardrail', 'warning', text);
  }

  action(text: string): void {
    this.#line('action', 'good', text);
  }

  human(text: string): void {
    this.#line('human', 'good', text);
  }

  note(text: string): void {
    this.#output.printItem({ note: text }, () => this.#output.paint('quiet', `  ${text}`));
  }

  #line(who: string, tone: Tone | undefined, text: string): void {
    const seconds = (performance.now() - this.#startedMs) / 1_000;
    const { paint } = this.#output;
    this.#output.printItem({ who, text, atSeconds: Number(seconds.toFixed(1)) }, () =>
      [paint('quiet', `${seconds.toFixed(1).padStart(6)} s`), paint(tone, who.padEnd(10)), plainText(text)].join('  '),
    );
  }
}
