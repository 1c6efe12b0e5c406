import { createServer } from 'node:net';

/** The wanted port if nobody has it, else any free one. */
export async function freePort(wanted = 0) {
  return (await tryPort(wanted)) ?? (await tryPort(0));
}

function tryPort(port) {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(undefined));
    probe.listen(port, '127.0.0.1', () => {
      const { port: taken } = probe.address();
      probe.close(() => resolve(taken));
    });
  });
}
