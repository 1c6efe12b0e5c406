const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
const INTERRUPTED = 130;

/**
 * Cleans up before an interrupted program exits. Returns a function that cancels this. A second signal exits at once.
 */
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
