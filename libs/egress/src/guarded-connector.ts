import type { LookupFunction } from 'node:net';
import type { buildConnector } from 'undici';
import { addressVerdict, type Networks } from './address-verdict.ts';
import { literalOf, refuseUnlessAllowed } from './refuse-address.ts';
import type { Names, ResolveName } from './resolve-name.ts';

/** The guard did not let a connection out. The message says why and how to mend it, without the address found. */
export class AddressRefused extends Error {
  override readonly name = 'AddressRefused';
}

const CONNECT_TIMEOUT_MS = 10_000;

/**
 * Connects only to vetted addresses: the answer that was checked is the answer the socket gets, so a name cannot
 * change between check and use. A name with one refused address among public ones is refused whole.
 */
export function guardedConnector(
  connectorOf: typeof buildConnector,
  networks: Networks,
  names: Names,
): buildConnector.connector {
  const vetted = async (target: buildConnector.Options): Promise<buildConnector.connector> => {
    const literal = literalOf(target.hostname) ?? (target.hostname.includes(':') ? target.hostname : null);
    const found = literal === null ? await names.resolve(target.hostname) : null;
    const addresses = found === null ? [literal ?? ''] : found.map(({ address }) => address);
    const refusal = refuseAddresses(addresses, target, networks);
    if (refusal !== null) throw new AddressRefused(refusal);
    return connectorOf({ timeout: CONNECT_TIMEOUT_MS, ...(found && { lookup: answering(found) }) });
  };

  // The callback runs outside the promise: what it throws is its own and must not come back as a second call.
  const connect = async (target: buildConnector.Options, callback: buildConnector.Callback): Promise<void> => {
    try {
      const connectVetted = await vetted(target);
      setImmediate(() =>
        connectVetted(target, (...result) => {
          // The host may have moved.
          if (result[0] !== null) names.forget(target.hostname);
          callback(...result);
        }),
      );
    } catch (error) {
      setImmediate(() => callback(error instanceof Error ? error : Object.assign(new Error(), error), null));
    }
  };
  return (target, callback) => void connect(target, callback);
}

function refuseAddresses(addresses: readonly string[], target: buildConnector.Options, networks: Networks) {
  if (addresses.length === 0) return 'has no address';
  const verdicts = addresses.map((address) => addressVerdict(address, networks));
  for (const verdict of verdicts) {
    if (verdict.kind !== 'refused') continue;
    return `resolves to ${verdict.what}; use a public address, or ask the operator to allow its network in AGENTLENS_EGRESS_ALLOW`;
  }
  return verdicts.every((verdict) => verdict.kind === 'allowed') ? null : refuseUnlessAllowed(target);
}

/** A lookup that knows only what was vetted. */
function answering(found: Awaited<ReturnType<ResolveName>>): LookupFunction {
  return (_name, options, callback) => {
    const addresses = found.map(({ address, family }) => ({ address, family }));
    if (options.all) return callback(null, addresses);
    callback(null, addresses[0]?.address ?? '', addresses[0]?.family);
  };
}
