import ipaddr from 'ipaddr.js';

type Network = [Address, number];

/** Non-public networks that the operator allows; parsed once per policy. */
export interface Networks {
  readonly empty: boolean;
  has(address: Address): boolean;
}

/**
 * Parses `10.1.0.0/16`, `127.0.0.1/32` or `fd00::/8`; an address without a prefix length means that single address.
 *
 * @throws Error naming the invalid entry, so that a typo prevents the start
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

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/**
 * `public`: unicast address on the internet. `allowed`: in a network that the operator allows. `refused`: everything
 * else, with the kind of address but never the address, which would tell a tenant what our resolver knows.
 */
type AddressVerdict =
  | { readonly kind: 'public' }
  | { readonly kind: 'allowed' }
  | { readonly kind: 'refused'; readonly what: string };

const GLOBAL_UNICAST_V6: [ipaddr.IPv6, number] = [ipaddr.IPv6.parse('2000::'), 3];
const NAT64_LOCAL: [ipaddr.IPv6, number] = [ipaddr.IPv6.parse('64:ff9b:1::'), 48];
/** In Azure, this public-looking address is the control service of the host. */
const CLOUD_HOST = new Set(['168.63.129.16']);

const KINDS: Readonly<Record<string, string>> = {
  unspecified: 'an unspecified address',
  broadcast: 'a broadcast address',
  multicast: 'a multicast address',
  linkLocal: 'a link-local address (cloud metadata lives there)',
  loopback: 'a loopback address',
  private: 'a private address',
  uniqueLocal: 'a private address',
  carrierGradeNat: 'a carrier-grade NAT address',
  '6to4': 'a 6to4 address',
  teredo: 'a Teredo address',
  rfc6052: 'a NAT64 address',
  rfc6145: 'an IPv4-translated address',
};

/** Classifies an address given as text (`127.0.0.1`, `::1`, without brackets). */
export function addressVerdict(text: string, networks: Networks): AddressVerdict {
  if (!ipaddr.isValid(text)) return { kind: 'refused', what: 'an invalid address' };
  // If an address contains another one (mapped, NAT64, 6to4, …), both must be acceptable.
  const verdicts = layers(ipaddr.parse(text)).map((address) => verdictOf(address, networks));
  return (
    verdicts.find((verdict) => verdict.kind === 'refused') ??
    (verdicts.every((verdict) => verdict.kind === 'allowed') ? { kind: 'allowed' } : { kind: 'public' })
  );
}

function verdictOf(address: Address, networks: Networks): AddressVerdict {
  if (networks.has(address)) return { kind: 'allowed' };
  const range: string = address.range();
  if (range !== 'unicast') return { kind: 'refused', what: KINDS[range] ?? 'a reserved address' };
  if (address instanceof ipaddr.IPv6 && !address.match(GLOBAL_UNICAST_V6)) {
    // Catches forms without a name, such as the old IPv4-compatible form `::7f00:1`.
    return { kind: 'refused', what: 'an address outside the public IPv6 space' };
  }
  if (CLOUD_HOST.has(address.toString())) return { kind: 'refused', what: 'an address of the cloud host' };
  return { kind: 'public' };
}

/** The address and the IPv4 address embedded in it. A mapped address is replaced by its IPv4 address. */
function layers(address: Address): Address[] {
  if (address instanceof ipaddr.IPv4) return [address];
  if (address.isIPv4MappedAddress()) return [address.toIPv4Address()];
  const bytes = address.toByteArray();
  const at = embeddedAt(address, bytes);
  return at === null ? [address] : [address, embedded(bytes, at)];
}

function embeddedAt(address: ipaddr.IPv6, bytes: readonly number[]): number | null {
  const range: string = address.range();
  if (range === '6to4') return 2;
  // NAT64 with the well-known prefix or a local /96, and IPv4-translated: the last four bytes.
  if (range === 'rfc6052' || range === 'rfc6145' || address.match(NAT64_LOCAL)) return 12;
  // ISATAP interface identifiers under any prefix.
  if ((bytes[8] === 0 || bytes[8] === 2) && bytes[9] === 0 && bytes[10] === 0x5e && bytes[11] === 0xfe) return 12;
  return null;
}

function embedded(bytes: readonly number[], at: number): ipaddr.IPv4 {
  return new ipaddr.IPv4(bytes.slice(at, at + 4));
}
