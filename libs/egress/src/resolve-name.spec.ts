import { describe, expect, it } from '@jest/globals';
import { rememberingNames } from './resolve-name.ts';

const FOUND = [{ address: '93.184.215.14', family: 4 }];

describe('names', () => {
  let now = 0;
  function resolver(answer: (nth: number) => Promise<typeof FOUND>) {
    const asked: string[] = [];
    now = 0;
    const resolve = (name: string) => {
      asked.push(name);
      return answer(asked.length);
    };
    const names = rememberingNames(resolve, () => now);
    return { names, asked };
  }

  it('are looked up once in ten seconds', async () => {
    const { names, asked } = resolver(async () => FOUND);
    for (const at of [0, 5_000, 9_999]) {
      now = at;
      expect(await names.resolve('a.example')).toEqual(FOUND);
    }
    expect(asked).toEqual(['a.example']);
    now = 10_000;
    await names.resolve('a.example');
    await names.resolve('b.example');
    expect(asked).toEqual(['a.example', 'a.example', 'b.example']);
  });

  it('that were not found are looked up again', async () => {
    const { names, asked } = resolver((nth) =>
      nth === 1 ? Promise.reject(new Error('ENOTFOUND')) : Promise.resolve(FOUND),
    );
    await expect(names.resolve('a.example')).rejects.toThrow('ENOTFOUND');
    expect(await names.resolve('a.example')).toEqual(FOUND);
    expect(asked).toHaveLength(2);
  });

  it('are looked up again if connecting to the address failed', async () => {
    const { names, asked } = resolver(async () => FOUND);
    await names.resolve('a.example');
    names.forget('a.example');
    await names.resolve('a.example');
    expect(asked).toHaveLength(2);
  });

  it('are cached in a limited number, evicting the oldest', async () => {
    const { names, asked } = resolver(async () => FOUND);
    for (let n = 0; n <= 1_024; n++) await names.resolve(`${n}.example`);
    await names.resolve('1024.example');
    expect(asked).toHaveLength(1_025);
    await names.resolve('0.example');
    expect(asked).toHaveLength(1_026);
  });
});
