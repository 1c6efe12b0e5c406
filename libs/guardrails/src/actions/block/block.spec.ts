import { describe, expect, it } from '@jest/globals';
import { block } from './block.ts';

describe('block', () => {
  it('blocks, with the configured message if there is one', () => {
    expect(block.effect({}, {})).toEqual({ kind: 'block' });
    expect(block.effect(block.config.parse({ message: ' no ' }), {})).toEqual({ kind: 'block', message: 'no' });
  });
});
