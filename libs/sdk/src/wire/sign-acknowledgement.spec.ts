import { describe, expect, it } from '@jest/globals';
import { readConnection, signAcknowledgement } from './sign-acknowledgement.ts';

const ORDER = { directiveId: 'o1', agentId: 'agent', instanceId: 'one', version: 3 };

describe('a signed acknowledgement', () => {
  it('is the one that the guard and the Python SDK make, too', async () => {
    const connection = { id: 'c', secret: '5e'.repeat(32) };
    expect(await signAcknowledgement(connection, ORDER)).toEqual({
      ...{ connection: 'c', version: 3 },
      mac: '018a690f46202f36162d8d0669871c8ae1064a24f4c2e34dfd4fb7c3448b9cc9',
    });
  });

  it('is not made where a page has no Web Crypto', async () => {
    const own = Object.getOwnPropertyDescriptor(globalThis, 'crypto');
    Object.defineProperty(globalThis, 'crypto', { value: {}, configurable: true });
    try {
      expect(await signAcknowledgement({ id: 'c', secret: '5e'.repeat(32) }, ORDER)).toBeUndefined();
    } finally {
      if (own !== undefined) Object.defineProperty(globalThis, 'crypto', own);
    }
  });

  it.each([undefined, {}, { id: 'c' }, { id: 'c', secret: 'xyz' }, { id: 'c', secret: 'abc' }])(
    'is not made with the connection %p',
    (message) => {
      expect(readConnection(message)).toBeUndefined();
    },
  );
});
