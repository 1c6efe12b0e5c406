import { InvalidArgumentError } from 'commander';

/** Reads one of a few words. */
export function oneOf<const Word extends string>(words: readonly Word[]): (text: string) => Word {
  return (text) => {
    const found = words.find((word) => word === text);
    if (found !== undefined) return found;
    throw new InvalidArgumentError(`Give one of ${words.join(', ')}.`);
  };
}

/** Reads several of a few words, with commas between them. */
export function someOf<const Word extends string>(words: readonly Word[]): (text: string) => Word[] {
  const one = oneOf(words);
  return (text) => text.split(',').map((word) => one(word.trim()));
}
