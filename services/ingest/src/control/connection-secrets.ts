import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { DirectiveAcknowledged } from '@agentlens/contracts';
import { type AcknowledgedOrder, writeAcknowledgement } from '@agentlens/contracts/signed-acknowledgement';
import type { SecretBox } from '@agentlens/platform';

/** The instance at the other end of a connection, and the key that opened it. */
export interface ConnectedInstance {
  readonly tenantId: string;
  readonly keyId: string;
  readonly agentId: string;
  readonly instanceId: string;
}

/** Sent to an instance when it connects. */
export interface ConnectionSecret {
  /** Returned with each acknowledgement. Opaque: the secret, sealed, so that every gateway can check it. */
  readonly id: string;
  /** In hex. Signs acknowledgements; never sent back. */
  readonly secret: string;
}

const SECRET_BYTES = 32;
const NAME_BYTES = 8;
const SEPARATOR = ':';

/**
 * Gives each connection a secret of its own, and checks acknowledgements that are signed with it. Keys are shared by all
 * instances of an agent; these secrets are not, so no client can acknowledge for an instance whose connection it cannot read.
 */
export class ConnectionSecrets {
  constructor(private readonly secrets: SecretBox) {}

  create(instance: ConnectedInstance): ConnectionSecret {
    const secret = randomBytes(SECRET_BYTES).toString('hex');
    const name = randomBytes(NAME_BYTES).toString('hex');
    return { id: this.secrets.seal(`${name}${SEPARATOR}${secret}`, contextOf(instance)), secret };
  }

  /** @returns what to record, or undefined if the signature is not one of this instance's connections */
  check(
    instance: ConnectedInstance,
    order: AcknowledgedOrder,
    { connection, mac }: { readonly connection: string; readonly mac: string },
  ): DirectiveAcknowledged['signature'] {
    const [name, secret] = this.#open(connection, instance);
    if (name === undefined || secret === undefined) return undefined;
    const expected = createHmac('sha256', Buffer.from(secret, 'hex')).update(writeAcknowledgement(order)).digest();
    const given = Buffer.from(mac, 'hex');
    if (given.length !== expected.length || !timingSafeEqual(given, expected)) return undefined;
    return { connection: name, version: order.version, mac };
  }

  #open(connection: string, instance: ConnectedInstance): readonly string[] {
    if (!this.secrets.isSealed(connection)) return [];
    try {
      return this.secrets.open(connection, contextOf(instance)).split(SEPARATOR);
    } catch {
      // Sealed for another instance, by another installation, or changed.
      return [];
    }
  }
}

const contextOf = ({ tenantId, keyId, agentId, instanceId }: ConnectedInstance) => [
  tenantId,
  'control_connections',
  JSON.stringify([keyId, agentId, instanceId]),
];
