/** What has to be taken back at the end, the last thing first, also when the demo is interrupted. */
export class CleanupList {
  readonly #tasks: (() => unknown)[] = [];

  add(task: () => unknown): void {
    this.#tasks.push(task);
  }

  /** Runs all of them. @returns what could not be taken back */
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
