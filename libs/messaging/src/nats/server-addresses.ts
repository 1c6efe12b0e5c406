/**
 * `NATS_URL` cannot be used as an address. A mistake of the configuration: retrying does not help. The message never
 * quotes the address, because it may contain a password.
 */
export class InvalidNatsAddress extends Error {
  override readonly name = 'InvalidNatsAddress';
}

/** What the NATS client expects: bare addresses, and the credentials beside them. */
export interface NatsServers {
  /** `host[:port]` each; an IPv6 address is in brackets. */
  readonly servers: readonly string[];
  readonly user?: string;
  readonly pass?: string;
}

/**
 * Splits `[nats://][user:password@]host[:port]` addresses, one or a comma-separated list, into hosts and credentials. The
 * client itself takes an address with credentials for IPv6 unless its host contains a dot.
 *
 * @throws InvalidNatsAddress if an address cannot be parsed or two addresses carry different credentials
 */
export function natsServers(addresses: string | readonly string[]): NatsServers {
  const list = (typeof addresses === 'string' ? addresses.split(',') : addresses).map((address) => address.trim());
  const parsed = list.map((address, index) => parseAddress(address, `address ${index + 1} of ${list.length}`));
  const logins = parsed.flatMap(({ login }) => (login === undefined ? [] : [login]));
  const [login] = logins;
  if (logins.some(({ user, pass }) => user !== login?.user || pass !== login?.pass)) {
    throw new InvalidNatsAddress('NATS_URL: all addresses of the list must carry the same user and password');
  }
  return { servers: parsed.map(({ host }) => host), ...login };
}

interface ParsedAddress {
  readonly host: string;
  readonly login?: { readonly user: string; readonly pass: string };
}

function parseAddress(address: string, position: string): ParsedAddress {
  const authority = address.replace(/^[a-z][a-z\d+.-]*:\/\//i, '');
  // Two colons and no brackets: a bare IPv6 address, which may not carry a port.
  const isBareIpv6 = /^[\da-f:.]*:[\da-f:.]*:[\da-f:.]*$/i.test(authority);
  try {
    const { host, username, password } = new URL(`nats://${isBareIpv6 ? `[${authority}]` : authority}`);
    if (host === '') throw new TypeError('no host');
    if (username === '' && password === '') return { host };
    return { host, login: { user: decodeURIComponent(username), pass: decodeURIComponent(password) } };
  } catch {
    // Without a cause: the error of `new URL` contains the address.
    throw new InvalidNatsAddress(
      `NATS_URL: ${position} is not of the form nats://[user:password@]host[:port]; ` +
        'percent-encode special characters in the user and the password, and put an IPv6 address in brackets',
    );
  }
}
