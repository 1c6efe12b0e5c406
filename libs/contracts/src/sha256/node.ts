import { hash } from 'node:crypto';

/** SHA-256 (hex) of bytes, or of a text in UTF-8. */
export function sha256Hex(content: string | Uint8Array): string {
  return hash('sha256', content, 'hex');
}
