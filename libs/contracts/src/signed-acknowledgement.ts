/** What an instance says that it did with an order. */
export interface AcknowledgedOrder {
  readonly directiveId: string;
  readonly agentId: string;
  readonly instanceId: string;
  /** Version of the order or directive, as it was sent. */
  readonly version: number;
}

const FORM = 'agentlens/ack/v1';

/**
 * The text that an acknowledgement signs, by HMAC-SHA256 with the secret of its connection. One value a line: none of
 * them contains a line break.
 */
export function writeAcknowledgement({ directiveId, agentId, instanceId, version }: AcknowledgedOrder): string {
  return [FORM, directiveId, agentId, instanceId, version, 'applied'].join('\n');
}
