import { connect, type Socket } from 'node:net';
import { addressVerdict, parseNetworks } from './address-verdict.ts';
import type { EgressPolicy } from './egress.ts';
import { AddressRefused } from './guarded-connector.ts';
import { literalOf } from './refuse-address.ts';
import { type ResolveName, resolveWithSystem } from './resolve-name.ts';

const CONNECT_TIMEOUT_MS = 5_000;
/** Ports of mail servers. Others are open only in allowed networks. */
const MAIL_PORTS = new Set([25, 465, 587, 2525]);

/**
 * Opens TCP connections to mail servers that tenants choose. The socket connects to an address that was checked, so a
 * name cannot change in between.
 *
 * @throws Error if the policy contains an invalid network
 */
export function createMailConnector(policy: EgressPolicy, resolve: ResolveName = resolveWithSystem) {
  const networks = parseNetworks(policy.allow);

  /** @throws AddressRefused; errors of the resolver and the connection */
  return async ({ host, port }: { readonly host: string; readonly port: number }): Promise<Socket> => {
    const literal = host.includes(':') ? host : literalOf(host);
    const addresses = literal === null ? (await resolve(host)).map(({ address }) => address) : [literal];
    const verdicts = addresses.map((address) => addressVerdict(address, networks));
    for (const verdict of verdicts) {
      if (verdict.kind !== 'refused') continue;
      throw new AddressRefused(
        `the mail server is at ${verdict.what}; ask the operator to allow its network in AGENTLENS_EGRESS_ALLOW`,
      );
    }
    const [address] = addresses;
    if (address === undefined) throw new AddressRefused('the name of the mail server has no address');
    if (!MAIL_PORTS.has(port) && verdicts.some(({ kind }) => kind !== 'allowed'))
      throw new AddressRefused(`port ${port} is no port of a mail server; use 587, 465, 25 or 2525`);
    return open(address, port);
  };
}

function open(host: string, port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port });
    const timer = setTimeout(() => socket.destroy(new Error('connecting timed out')), CONNECT_TIMEOUT_MS);
    socket.once('connect', () => {
      clearTimeout(timer);
      socket.removeListener('error', reject);
      resolve(socket);
    });
    socket.once('error', (error) => {
      clearTimeout(timer);
      reject(error);
    });
  });
}
