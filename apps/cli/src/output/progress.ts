import type { Output } from './output.ts';

const QUIET_MS = 1_000;
const TICK_MS = 250;

/** Says on stderr what is waited for once it takes longer than a second. `label` may change as the work goes on. */
export async function withProgress<T>(output: Output, label: string | (() => string), work: Promise<T>): Promise<T> {
  const text = typeof label === 'string' ? () => label : label;
  const startedMs = performance.now();
  let shown = false;
  const timer = setInterval(() => {
    const elapsedMs = performance.now() - startedMs;
    if (elapsedMs < QUIET_MS) return;
    const isTerminal = output.status(`${text()} (${Math.floor(elapsedMs / 1_000)} s)`);
    if (!isTerminal && !shown) output.note(`${text()} …`);
    shown = true;
  }, TICK_MS);
  try {
    return await work;
  } finally {
    clearInterval(timer);
    if (shown) output.status(undefined);
  }
}
