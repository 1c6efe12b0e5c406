import type { Database } from '@agentlens/database';
import { makeSigningKey, type NoteSigner, openSigner } from '@agentlens/log';
import type { SecretBox } from '@agentlens/platform';

const SEALED_FOR = ['installation', 'log_keys', '1'];

/** Opens the signing key of the installation. The first process creates it. @throws database errors */
export async function openSigningKey(database: Pick<Database, 'db'>, secrets: SecretBox): Promise<NoteSigner> {
  const known = await readKey(database);
  if (known !== undefined) return openSigner(Buffer.from(secrets.open(known, SEALED_FOR), 'base64'));
  const secret = makeSigningKey();
  await database.db
    .insertInto('log_keys')
    .values({
      public_key: openSigner(secret).publicKey,
      sealed: secrets.seal(secret.toString('base64'), SEALED_FOR),
    })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  // Another process may have been first.
  const stored = await readKey(database);
  if (stored === undefined) throw new Error('the signing key of the log was not stored');
  return openSigner(Buffer.from(secrets.open(stored, SEALED_FOR), 'base64'));
}

async function readKey({ db }: Pick<Database, 'db'>): Promise<string | undefined> {
  const row = await db.selectFrom('log_keys').select('sealed').executeTakeFirst();
  return row?.sealed;
}
