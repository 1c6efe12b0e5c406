import { connect, createServer, type Server, type Socket } from 'node:net';
import { request } from 'undici';
import type { ServiceProcess } from '../harness/service-process.ts';

const PROBE_EVERY_MS = 25;

/** A load balancer: distributes new connections in turn to the ready replicas. */
export class Balancer {
  private readonly replicas: readonly ServiceProcess[];
  private readonly server: Server;
  private readonly sockets = new Set<Socket>();
  private readonly probe: NodeJS.Timeout;
  private ready: readonly ServiceProcess[];
  private turn = 0;

  private constructor(replicas: readonly ServiceProcess[], server: Server) {
    this.replicas = replicas;
    this.ready = replicas;
    this.server = server;
    server.on('connection', (near) => this.forward(near));
    this.probe = setInterval(() => void this.look(), PROBE_EVERY_MS);
  }

  static async open(replicas: readonly ServiceProcess[]): Promise<Balancer> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return new Balancer(replicas, server);
  }

  get url(): string {
    const address = this.server.address();
    return `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
  }

  async close(): Promise<void> {
    clearInterval(this.probe);
    for (const socket of this.sockets) socket.destroy();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private async look(): Promise<void> {
    const answers = await Promise.all(
      this.replicas.map(async (replica) => {
        const answer = await request(`${replica.url}/readyz`, { headersTimeout: 1_000 }).catch(() => undefined);
        await answer?.body.dump();
        return answer?.statusCode === 200;
      }),
    );
    this.ready = this.replicas.filter((_, i) => answers[i]);
  }

  private forward(near: Socket, tried = 0): void {
    const among = this.ready.length > 0 ? this.ready : this.replicas;
    const replica = among[this.turn++ % among.length];
    if (replica === undefined || tried > among.length) {
      near.destroy();
      return;
    }
    const { hostname, port } = new URL(replica.url);
    const far = connect({ host: hostname, port: Number(port) });
    this.sockets.add(near).add(far);
    far.once('connect', () => {
      near.pipe(far);
      far.pipe(near);
    });
    let connected = false;
    far.once('connect', () => {
      connected = true;
    });
    far.on('error', () => {
      if (connected) near.destroy();
      else this.forward(near, tried + 1);
    });
    near.on('error', () => far.destroy());
    near.on('close', () => {
      this.sockets.delete(near);
      this.sockets.delete(far);
    });
  }
}
