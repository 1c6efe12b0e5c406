import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { FromGenerator, LoadOrder, LoadReport } from './load-protocol.ts';

export interface RunningLoad {
  readonly pid: number;
  readonly report: Promise<LoadReport>;
  /** Lets requests in flight finish and ends the run early. */
  stop(): void;
}

/** Starts the load generator in a separate process. */
export function generateLoad(order: LoadOrder): RunningLoad {
  const child = fork(fileURLToPath(new URL('./load-generator.ts', import.meta.url)), {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const report = new Promise<LoadReport>((resolve, reject) => {
    child.once('message', (message: FromGenerator) => {
      if (message.kind === 'report') resolve(message.report);
      else reject(new Error(`the load generator failed: ${message.message}`));
    });
    child.once('exit', (code) => reject(new Error(`the load generator ended without a report (exit ${code})`)));
  });
  child.send({ kind: 'start', order });
  return {
    pid: child.pid ?? 0,
    report,
    stop: () => {
      if (child.connected) child.send({ kind: 'stop' });
    },
  };
}
