import { describe, expect, it } from '@jest/globals';
import { BodyMemory } from './otlp.routes.ts';

describe('BodyMemory', () => {
  const plain = (bytes: number | undefined) => ({ bytes, isCompressed: false });

  it('has room for one body of any size, and for several small ones', () => {
    const memory = new BodyMemory(100);
    expect(memory.take('acme', plain(500))).toBeDefined();
    expect(memory.take('acme', plain(1))).toBeUndefined();
    expect(memory.take('globex', plain(40))).toBeDefined();
    expect(memory.take('globex', plain(60))).toBeDefined();
    expect(memory.take('globex', plain(1))).toBeUndefined();
  });

  it('counts a compressed body as larger, and a body without length as the full size', () => {
    const memory = new BodyMemory(100);
    memory.take('acme', { bytes: 10, isCompressed: true });
    expect(memory.take('acme', plain(21))).toBeUndefined();
    expect(memory.take('acme', plain(undefined))).toBeUndefined();
    expect(memory.take('acme', plain(20))).toBeDefined();
  });

  it('has room again when a body is released, once', () => {
    const memory = new BodyMemory(100);
    const first = memory.take('acme', plain(60));
    memory.take('acme', plain(40));
    first?.();
    first?.();
    expect(memory.take('acme', plain(61))).toBeUndefined();
    expect(memory.take('acme', plain(60))).toBeDefined();
  });
});
