import { describe, expect, it } from '@jest/globals';
import { BodyMemory } from './otlp.routes.ts';

describe('the memory for bodies', () => {
  const plain = (bytes: number | undefined) => ({ bytes, isCompressed: false });

  it('has room for one body of any size, and for small ones together', () => {
    const memory = new BodyMemory(100);
    expect(memory.take('acme', plain(500))).toBeDefined();
    expect(memory.take('acme', plain(1))).toBeUndefined();
    expect(memory.take('globex', plain(40))).toBeDefined();
    expect(memory.take('globex', plain(60))).toBeDefined();
    expect(memory.take('globex', plain(1))).toBeUndefined();
  });

  it('counts what is compressed as more, and what has no length as all there is', () => {
    const memory = new BodyMemory(100);
    memory.take('acme', { bytes: 10, isCompressed: true });
    expect(memory.take('acme', plain(21))).toBeUndefined();
    expect(memory.take('acme', plain(undefined))).toBeUndefined();
    expect(memory.take('acme', plain(20))).toBeDefined();
  });

  it('has room again when a body is given back, once', () => {
    const memory = new BodyMemory(100);
    const first = memory.take('acme', plain(60));
    memory.take('acme', plain(40));
    first?.();
    first?.();
    expect(memory.take('acme', plain(61))).toBeUndefined();
    expect(memory.take('acme', plain(60))).toBeDefined();
  });
});
