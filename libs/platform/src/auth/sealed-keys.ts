import { z } from 'zod';
import type { Platform } from '../platform.ts';

const Sealed = z.object({ key: z.string(), until: z.number() });

/** API keys that a client holds sealed, for a while and for one purpose, instead of the key itself. */
export class SealedKeys {
  readonly #platform: Pick<Platform, 'secrets' | 'clock'>;
  readonly #context: readonly string[];

  /** @param purpose what is sealed for another one does not open. */
  constructor(platform: Pick<Platform, 'secrets' | 'clock'>, purpose: string) {
    this.#platform = platform;
    this.#context = [purpose];
  }

  seal(key: string, untilMs: number): string {
    return this.#platform.secrets.seal(JSON.stringify({ key, until: untilMs }), this.#context);
  }

  /** The key, unless its time is over, or the text was altered or sealed by a key that this platform no longer has. */
  open(sealed: string): string | undefined {
    const { secrets, clock } = this.#platform;
    if (!secrets.isSealed(sealed)) return undefined;
    try {
      const { key, until } = Sealed.parse(JSON.parse(secrets.open(sealed, this.#context)));
      return until > clock.now() ? key : undefined;
    } catch {
      return undefined;
    }
  }
}
