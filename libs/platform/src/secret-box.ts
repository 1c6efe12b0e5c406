/**
 * Authenticated encryption of small secrets at rest (AES-256-GCM). `context` binds a sealed value to where it belongs
 * (tenant, table, row), so that it cannot be moved; the sealed text names the key version it was made with.
 */
export interface SecretBox {
  seal(plain: string, context: readonly string[]): string;
  /** @throws Error when the text was altered, moved, or sealed with a key this process does not have. */
  open(sealed: string, context: readonly string[]): string;
  isSealed(text: string): boolean;
}
