const EVERY_MS = 25;

/** Polls until there is a result. @throws an error with what was awaited and the last state */
export async function until<T>(
  what: string,
  ask: () => Promise<T | undefined>,
  deadlineMs: number,
  standing: () => Promise<string> = async () => '',
): Promise<T> {
  const deadline = performance.now() + deadlineMs;
  for (;;) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    if (performance.now() > deadline) {
      throw new Error(`waited ${deadlineMs / 1000} s in vain for ${what} ${await standing()}`);
    }
    await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
  }
}
