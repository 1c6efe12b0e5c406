import type { Dispatcher } from 'undici';

/** The first `limit` bytes of a body as text. The rest is not read: the connection is dropped instead. */
export async function readCapped(body: Dispatcher.ResponseData['body'], limit: number): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body) {
    const bytes = Buffer.from(chunk);
    chunks.push(bytes);
    size += bytes.length;
    if (size >= limit) break; // leaving the loop destroys the stream
  }
  return Buffer.concat(chunks).subarray(0, limit).toString('utf8');
}
