import { type TcpProxy, tcpProxy } from '@agentlens/testing';
import type { ServerName } from '../harness/stack.ts';

/** A TCP proxy between each process and each of its servers, so that one link can fail alone. */
export class Proxies {
  private readonly links = new Map<string, TcpProxy>();

  async between(process: string, server: ServerName, url: string): Promise<string> {
    const proxy = await tcpProxy(url);
    this.links.set(`${process} ${server}`, proxy);
    return proxy.url;
  }

  /** The links of one server, of all processes or of one. */
  of(server: ServerName, process?: string): readonly TcpProxy[] {
    return [...this.links]
      .filter(([name]) => name === `${process} ${server}` || (process === undefined && name.endsWith(` ${server}`)))
      .map(([, proxy]) => proxy);
  }

  /** Stops forwarding on what is connected, without a word; new connections pass. */
  halfOpen(server: ServerName, process: string): void {
    for (const link of this.of(server, process)) {
      link.mode('half-open');
      link.mode('pass');
    }
  }

  async close(): Promise<void> {
    await Promise.all([...this.links.values()].map((link) => link.close()));
  }
}
