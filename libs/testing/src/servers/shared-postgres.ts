import { createServer, type Server } from 'node:net';
import { startPostgres } from './postgres.ts';
import type { TestServer } from './test-server.ts';

export const CONTROL_PORT_VARIABLE = 'AGENTLENS_TEST_CONTROL_PORT';

/**
 * One Postgres for a whole test run, started by the first test that needs it. The parent process of the run listens on
 * a loopback port and sends the address to each test that connects.
 */
export class SharedPostgres {
  private server: Promise<TestServer> | undefined;
  private control: Server | undefined;

  async listen(): Promise<number> {
    const control = createServer((socket) => {
      socket.on('error', () => socket.destroy());
      this.server ??= startPostgres();
      this.server.then(
        (server) => socket.end(JSON.stringify({ url: server.url })),
        (error: Error) => socket.end(JSON.stringify({ error: error.message })),
      );
    });
    this.control = control;
    await new Promise<void>((resolve) => control.listen(0, '127.0.0.1', resolve));
    const address = control.address();
    if (address === null || typeof address === 'string') throw new Error('no port was assigned');
    return address.port;
  }

  async stop(): Promise<void> {
    this.control?.close();
    const server = await this.server?.catch(() => undefined);
    await server?.stop();
  }
}
