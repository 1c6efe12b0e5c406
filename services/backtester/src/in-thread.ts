import { Worker } from 'node:worker_threads';
import type { BacktestProgress } from '@agentlens/contracts';
import type { ClaimedBacktest, FinishedBacktest } from './backtests.repository.ts';
import type { JobHooks } from './job-runner.ts';

const MAX_HEAP_MB = 256;
/** The same folder holds this module and the thread, as sources or built. */
const SOURCE = new URL('./backtest-thread.ts', import.meta.url);
const THREAD = new URL(SOURCE.href.replace(/\.ts$/, import.meta.url.endsWith('.ts') ? '.ts' : '.js'));

export interface ThreadOrder {
  readonly databaseUrl: string;
  readonly job: ClaimedBacktest;
}

/** Each progress is answered with whether the job goes on. */
export type FromThread =
  | { readonly progress: BacktestProgress }
  | { readonly done: FinishedBacktest }
  | { readonly failed: string };

/** Executes a job in a thread with a limited heap, so that the process keeps answering. */
export async function inThread(databaseUrl: string, job: ClaimedBacktest, hooks: JobHooks): Promise<FinishedBacktest> {
  const workerData: ThreadOrder = { databaseUrl, job };
  const thread = new Worker(THREAD, { workerData, resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB } });
  const done = new Promise<FinishedBacktest>((resolve, reject) => {
    thread.on('message', (message: FromThread) => {
      if ('done' in message) resolve(message.done);
      else if ('failed' in message) reject(new Error(message.failed));
      else hooks.proceed(message.progress).then((goesOn) => thread.postMessage(goesOn), reject);
    });
    thread.once('error', reject);
    thread.once('exit', (code) => reject(new Error(`the thread of a backtest ended with code ${code}`)));
  });
  try {
    return await done;
  } finally {
    await thread.terminate();
  }
}
