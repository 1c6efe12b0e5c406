import { freePort, startNats, type TcpProxy, type TestServer, tcpProxy } from '@agentlens/testing';

const NODES = 3;
/** An unused address. Servers must find each other only by their configured routes, which lead through proxies. */
const NOWHERE = '127.0.0.1:1';

/** Three NATS servers on this machine with a proxy on each route, so that each can be killed, frozen or cut off. */
export class NatsCluster {
  readonly size = NODES;
  private readonly nodes = new Map<string, TestServer>();
  private readonly routes: { readonly from: string; readonly to: string; readonly proxy: TcpProxy }[] = [];

  node(name: string): TestServer {
    const node = this.nodes.get(name);
    if (node === undefined) throw new Error(`unknown server ${name}`);
    return node;
  }

  /** The addresses of all but one. */
  urlsWithout(name: string): string[] {
    return [...this.nodes].flatMap(([other, { url }]) => (other === name ? [] : [url]));
  }

  /** Isolates a server from the others. Its clients notice nothing. */
  cutOff(name: string): void {
    for (const { proxy } of this.routesOf(name)) proxy.mode('blackhole');
  }

  /** Allows new connections between the servers again. Connections from before stay dead. */
  rejoin(name: string): void {
    for (const { proxy } of this.routesOf(name)) proxy.mode('pass');
  }

  /** Starts all of them, as one server that is killed and stopped together. */
  async start(): Promise<TestServer> {
    const names = Array.from({ length: NODES }, (_, i) => `node-${i + 1}`);
    const ports = new Map<string, number>();
    for (const name of names) ports.set(name, await freePort());
    for (const from of names) {
      for (const to of names.filter((name) => name !== from)) {
        this.routes.push({ from, to, proxy: await tcpProxy(`tcp://127.0.0.1:${ports.get(to)}`) });
      }
    }
    await Promise.all(names.map((name) => this.startNode(name, ports.get(name) ?? 0)));
    const all = () => [...this.nodes.values()];
    return {
      url: all()
        .map(({ url }) => url)
        .join(','),
      kill: async (signal) => void (await Promise.all(all().map((node) => node.kill(signal)))),
      start: async () => void (await Promise.all(all().map((node) => node.start()))),
      restart: async () => void (await Promise.all(all().map((node) => node.restart()))),
      stop: async () => {
        // A frozen server cannot stop.
        await Promise.all(all().map((node) => node.kill('SIGCONT')));
        await Promise.all(all().map((node) => node.stop()));
        await Promise.all(this.routes.map(({ proxy }) => proxy.close()));
      },
    };
  }

  private async startNode(name: string, port: number): Promise<void> {
    const peers = this.routes
      .filter(({ from }) => from === name)
      .map(({ proxy }) => `nats-route://127.0.0.1:${proxy.port}`);
    // Detects silence on a route in 2 to 3 s, as on client connections. The default takes minutes.
    const config = `server_name: ${name}
ping_interval: "1s"
ping_max: 2
cluster { name: proof, listen: "127.0.0.1:${port}", advertise: "${NOWHERE}", no_advertise: true, routes: [${peers.join(', ')}] }`;
    this.nodes.set(name, await startNats({ durable: true, strictPings: true, port: await freePort(), config }));
  }

  private routesOf(name: string) {
    return this.routes.filter(({ from, to }) => from === name || to === name);
  }
}
