const STEP_MS = 20;

/**
 * Repeats an assertion until it holds, for behaviour that completes on its own time. Not a timing assertion: the
 * deadline only bounds how long a broken test hangs.
 */
export async function eventually<T>(assertion: () => T | Promise<T>, options: { timeoutMs?: number } = {}): Promise<T> {
  const deadline = performance.now() + (options.timeoutMs ?? 60_000);
  for (;;) {
    try {
      return await assertion();
    } catch (error) {
      if (performance.now() > deadline) throw error;
      await new Promise((resolve) => setTimeout(resolve, STEP_MS));
    }
  }
}
