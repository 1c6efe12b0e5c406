const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
const INTERRUPTED = 130;

/** Cleans up before an interrupted program ends; answers how to do without it again. A second signal does not wait. */
export function whenInterrupted(cleanUp: () => Promise<void>): () => void {
  let interrupted = false;
  const onSignal = () => {
    if (interrupted) process.exit(INTERRUPTED);
    interrupted = true;
    console.error('interrupted, stopping the servers');
    void cleanUp().finally(() => process.exit(INTERRUPTED));
  };
  for (const signal of SIGNALS) process.on(signal, onSignal);
  return () => {
    for (const signal of SIGNALS) process.off(signal, onSignal);
  };
}
