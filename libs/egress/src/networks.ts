import ipaddr from 'ipaddr.js';

type Address = ipaddr.IPv4 | ipaddr.IPv6;
type Network = [Address, number];

/** Networks an operator allowed although they are not public; built once per policy. */
export interface Networks {
  readonly empty: boolean;
  has(address: Address): boolean;
}

/**
 * Parses `10.1.0.0/16`, `127.0.0.1/32`, `fd00::/8`; a bare address means that one address.
 *
 * @throws Error naming the entry that is not a network, so that a typo stops the start instead of opening a hole.
 */
export function parseNetworks(entries: readonly string[]): Networks {
  const networks = entries.map((entry) => parseNetwork(entry.trim()));
  return {
    empty: networks.length === 0,
    has: (address) =>
      networks.some(([base, bits]) => base.kind() === address.kind() && address.match([base, bits] as never)),
  };
}

function parseNetwork(entry: string): Network {
  try {
    if (entry.includes('/')) return ipaddr.parseCIDR(entry);
    const address = ipaddr.parse(entry);
    return [address, address.kind() === 'ipv4' ? 32 : 128];
  } catch {
    throw new Error(`"${entry}" is not a network; write it like 10.1.0.0/16, 127.0.0.1/32 or fd00::/8`);
  }
}
