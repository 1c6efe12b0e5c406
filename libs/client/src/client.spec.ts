import { OPERATIONS } from '@agentlens/operations';
import { describe, expect, it } from '@jest/globals';
import { createClient } from './create-client.ts';
import { ROUTES } from './routes.ts';

describe('the routes of the client', () => {
  it('equal the declared operations: npm run routes -w @agentlens/client', () => {
    const declared = OPERATIONS.map(({ id, method, path, frames }) => [
      id,
      `${frames === undefined ? method.toUpperCase() : 'STREAM'} ${path}`,
    ]);
    expect(ROUTES).toEqual(Object.fromEntries(declared));
  });

  it('are methods named by operation id', () => {
    expect(Object.keys(createClient()).sort()).toEqual(OPERATIONS.map(({ id }) => id).sort());
  });
});
