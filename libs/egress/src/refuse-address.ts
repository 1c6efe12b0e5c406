import { addressVerdict, type Networks, parseNetworks } from './address-verdict.ts';
import type { AddressCheck } from './egress.ts';

const PUBLIC_PORTS = new Set(['', '443', '8443']);
const ASK = 'use a public address, or ask the operator to allow its network in AGENTLENS_EGRESS_ALLOW';

/**
 * Judges an address as written: scheme, credentials, port, and the host where it is a literal. Runs after URL parsing,
 * because the parser turns every spelling (`0x7f.1`, `2130706433`, `[::ffff:127.0.0.1]`) into one canonical form, and no
 * lookup would ever see a literal. Names are judged again, by all their addresses, when connecting.
 */
export const refuseAddress: AddressCheck = (url, policy) => {
  const parsed = URL.parse(url);
  if (parsed === null) return 'is not a valid URL; write it like https://example.com/hook';
  return refuseUrl(parsed, parseNetworks(policy.allow));
};

/** The same for a parsed URL and policy. */
export function refuseUrl(url: URL, networks: Networks): string | null {
  if (url.protocol !== 'https:' && url.protocol !== 'http:') {
    return `must be an https address, not "${url.protocol.slice(0, 20)}"`;
  }
  if (url.username !== '' || url.password !== '') {
    return 'must not hold a user name or password; send credentials in a header';
  }
  const literal = literalOf(url.hostname);
  if (literal !== null) return refuseLiteral(url, addressVerdict(literal, networks));
  if (!networks.empty) return null; // the name may lie in an allowed network: only connecting can tell
  if (isLocalName(url.hostname)) return `names this machine; ${ASK}`;
  return refuseUnlessAllowed(url);
}

function refuseLiteral(url: URL, verdict: ReturnType<typeof addressVerdict>): string | null {
  if (verdict.kind === 'refused') return `points to ${verdict.what}; ${ASK}`;
  return verdict.kind === 'allowed' ? null : refuseUnlessAllowed(url);
}

/** What a host outside the allowed networks has to keep to; null where it does. */
export function refuseUnlessAllowed(url: { protocol: string; port: string }): string | null {
  if (url.protocol !== 'https:') {
    return 'must use https; plain http is sent only into networks the operator allowed in AGENTLENS_EGRESS_ALLOW';
  }
  if (!PUBLIC_PORTS.has(url.port)) {
    return `must use port 443 or 8443, not ${url.port}; other ports are open only in networks the operator allowed in AGENTLENS_EGRESS_ALLOW`;
  }
  return null;
}

/** The address in a URL's host, without brackets, or null where the host is a name. */
export function literalOf(hostname: string): string | null {
  if (hostname.startsWith('[')) return hostname.slice(1, -1);
  // The URL parser refuses or rewrites every other all-numeric host, so this exact form is the only one left.
  return /^\d{1,3}(\.\d{1,3}){3}$/.test(hostname) ? hostname : null;
}

function isLocalName(hostname: string): boolean {
  const name = hostname.replace(/\.$/, '');
  return name === 'localhost' || name.endsWith('.localhost');
}
