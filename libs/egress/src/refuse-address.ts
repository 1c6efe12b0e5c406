import { addressVerdict, type Networks, parseNetworks } from './address-verdict.ts';
import type { AddressCheck } from './egress.ts';

const PUBLIC_PORTS = new Set(['', '443', '8443']);
const ASK = 'use a public address, or ask the operator to allow its network in AGENTLENS_EGRESS_ALLOW';

/**
 * Checks an address as written: scheme, credentials, port, and the host if it is an IP address. Works on the parsed
 * URL, because the parser normalizes every form (`0x7f.1`, `2130706433`, `[::ffff:127.0.0.1]`), and IP addresses are
 * never looked up. Names are checked again when connecting, with all their addresses.
 */
export const refuseAddress: AddressCheck = (url, policy) => {
  const parsed = URL.parse(url);
  if (parsed === null) return 'is not a valid URL; write it like https://example.com/hook';
  return refuseUrl(parsed, parseNetworks(policy.allow));
};

/** The same check for a parsed URL and policy. */
export function refuseUrl(url: URL, networks: Networks): string | null {
  if (url.protocol !== 'https:' && url.protocol !== 'http:') {
    return `must be an https address, not "${url.protocol.slice(0, 20)}"`;
  }
  if (url.username !== '' || url.password !== '') {
    return 'must not hold a user name or password; send credentials in a header';
  }
  const literal = literalOf(url.hostname);
  if (literal !== null) return refuseLiteral(url, addressVerdict(literal, networks));
  if (!networks.empty) return null; // the name may be in an allowed network, which is checked when connecting
  if (isLocalName(url.hostname)) return `refers to this machine; ${ASK}`;
  return refuseUnlessAllowed(url);
}

function refuseLiteral(url: URL, verdict: ReturnType<typeof addressVerdict>): string | null {
  if (verdict.kind === 'refused') return `points to ${verdict.what}; ${ASK}`;
  return verdict.kind === 'allowed' ? null : refuseUnlessAllowed(url);
}

/** Rules for hosts outside the allowed networks; null if they are met. */
export function refuseUnlessAllowed(url: { protocol: string; port: string }): string | null {
  if (url.protocol !== 'https:') {
    return 'must use https; plain http is sent only into networks the operator allowed in AGENTLENS_EGRESS_ALLOW';
  }
  if (!PUBLIC_PORTS.has(url.port)) {
    return `must use port 443 or 8443, not ${url.port}; other ports are open only in networks the operator allowed in AGENTLENS_EGRESS_ALLOW`;
  }
  return null;
}

/** IP address in a URL's host, without brackets; null if the host is a name. */
export function literalOf(hostname: string): string | null {
  if (hostname.startsWith('[')) return hostname.slice(1, -1);
  // The URL parser rejects or normalizes every other all-numeric host.
  return /^\d{1,3}(\.\d{1,3}){3}$/.test(hostname) ? hostname : null;
}

function isLocalName(hostname: string): boolean {
  const name = hostname.replace(/\.$/, '');
  return name === 'localhost' || name.endsWith('.localhost');
}
