import type { LookupFunction } from 'node:net';
import type { buildConnector } from 'undici';
import { addressVerdict, type Networks } from './address-verdict.ts';
import { literalOf, refuseUnlessAllowed } from './refuse-address.ts';
import type { Names, ResolveName } from './resolve-name.ts';

/** The guard blocked a connection. The message says why and how to fix it, without the address. */
export class AddressRefused extends Error {
  override readonly name = 'AddressRefused';
}

const CONNECT_TIMEOUT_MS = 10_000;

/**
 * Connects only to checked addresses. The socket gets the same lookup result that was checked, so a name cannot change
 * in between. A name is refused if any of its addresses is refused.
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

  // Called outside the promise, so that an error in the callback does not call it a second time.
  const connect = async (target: buildConnector.Options, callback: buildConnector.Callback): Promise<void> => {
    try {
      const connectVetted = await vetted(target);
      setImmediate(() =>
        connectVetted(target, (...result) => {
          // The host may have a new address.
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

/** A lookup that returns only checked addresses. */
function answering(found: Awaited<ReturnType<ResolveName>>): LookupFunction {
  return (_name, options, callback) => {
    const addresses = found.map(({ address, family }) => ({ address, family }));
    if (options.all) return callback(null, addresses);
    callback(null, addresses[0]?.address ?? '', addresses[0]?.family);
  };
}
