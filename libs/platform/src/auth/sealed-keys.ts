import { z } from 'zod';
import type { Platform } from '../platform.ts';

const Sealed = z.object({ key: z.string(), until: z.number(), secret: z.string().optional() });

export interface OpenedKey {
  readonly key: string;
  /** What was sealed beside the key. */
  readonly secret: string | undefined;
}

/** API keys that a client holds sealed, for a while and for one purpose, instead of the key itself. */
export class SealedKeys {
  readonly #platform: Pick<Platform, 'secrets' | 'clock'>;
  readonly #context: readonly string[];

  /** @param purpose what is sealed for another one does not open. */
  constructor(platform: Pick<Platform, 'secrets' | 'clock'>, purpose: string) {
    this.#platform = platform;
    this.#context = [purpose];
  }

  seal(key: string, untilMs: number, secret?: string): string {
    return this.#platform.secrets.seal(JSON.stringify({ key, until: untilMs, secret }), this.#context);
  }

  /** The key, unless its time is over, or the text was altered or sealed by a key that this platform no longer has. */
  open(sealed: string): string | undefined {
    return this.openAll(sealed)?.key;
  }

  openAll(sealed: string): OpenedKey | undefined {
    const { secrets, clock } = this.#platform;
    if (!secrets.isSealed(sealed)) return undefined;
    try {
      const { key, until, secret } = Sealed.parse(JSON.parse(secrets.open(sealed, this.#context)));
      return until > clock.now() ? { key, secret } : undefined;
    } catch {
      return undefined;
    }
  }
}
