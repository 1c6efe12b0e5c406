/**
 * `NATS_URL` is not valid. This is a configuration error, so retrying does not help. The message never quotes the
 * address, because it may contain a password.
 */
export class InvalidNatsAddress extends Error {
  override readonly name = 'InvalidNatsAddress';
}

/** Addresses and credentials in the form the NATS client expects. */
export interface NatsServers {
  /** `host[:port]`, IPv6 in brackets. */
  readonly servers: readonly string[];
  readonly user?: string;
  readonly pass?: string;
}

/**
 * Splits `[nats://][user:password@]host[:port]` addresses into hosts and credentials. Accepts an array or a
 * comma-separated list. The client itself mistakes an address with credentials for IPv6 unless its host contains a dot.
 *
 * @throws InvalidNatsAddress if an address cannot be parsed or two addresses have different credentials
 */
export function natsServers(addresses: string | readonly string[]): NatsServers {
  const list = (typeof addresses === 'string' ? addresses.split(',') : addresses).map((address) => address.trim());
  const parsed = list.map((address, index) => parseAddress(address, `address ${index + 1} of ${list.length}`));
  const logins = parsed.flatMap(({ login }) => (login === undefined ? [] : [login]));
  const [login] = logins;
  if (logins.some(({ user, pass }) => user !== login?.user || pass !== login?.pass)) {
    throw new InvalidNatsAddress('NATS_URL: all addresses must have the same user and password');
  }
  return { servers: parsed.map(({ host }) => host), ...login };
}

interface ParsedAddress {
  readonly host: string;
  readonly login?: { readonly user: string; readonly pass: string };
}

function parseAddress(address: string, position: string): ParsedAddress {
  const authority = address.replace(/^[a-z][a-z\d+.-]*:\/\//i, '');
  // A bare IPv6 address has at least two colons and no port.
  const isBareIpv6 = /^[\da-f:.]*:[\da-f:.]*:[\da-f:.]*$/i.test(authority);
  try {
    const { host, username, password } = new URL(`nats://${isBareIpv6 ? `[${authority}]` : authority}`);
    if (host === '') throw new TypeError('no host');
    if (username === '' && password === '') return { host };
    return { host, login: { user: decodeURIComponent(username), pass: decodeURIComponent(password) } };
  } catch {
    // No cause, because the error of `new URL` contains the address.
    throw new InvalidNatsAddress(
      `NATS_URL: ${position} is not of the form nats://[user:password@]host[:port]; ` +
        'percent-encode special characters in the user and the password, and put an IPv6 address in brackets',
    );
  }
}
