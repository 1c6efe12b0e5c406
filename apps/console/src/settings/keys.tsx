import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { DAY_MS } from '../../../../libs/contracts/src/times.ts';
import { visibleName } from '../../../../libs/contracts/src/visible.ts';
import { client } from '../api/client.ts';
import type { ApiKey, NewKey } from '../api/model.ts';
import { useRead } from '../live-data/live-store.ts';
import { shortClock } from '../time/zone.ts';
import { Act } from '../ui/act.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { Read } from '../ui/faces.tsx';
import { FailureLine } from '../ui/failure-line.tsx';
import { Field, useRejection } from '../ui/field.tsx';
import { Ago, Moment, useNow } from '../ui/moment.tsx';
import { Section } from '../ui/section.tsx';
import { ShownOnce } from '../ui/shown-once.tsx';
import { useChange } from '../ui/use-change.ts';

const KINDS = [
  { id: 'agent', name: 'for an agent: send events and ask', scopes: ['ingest', 'decide'] },
  { id: 'reviewer', name: 'for a person: read and decide approvals', scopes: ['read', 'review'] },
  { id: 'reader', name: 'for a dashboard: read', scopes: ['read'] },
  { id: 'admin', name: 'for an admin: everything', scopes: ['admin'] },
] as const;

export function Keys() {
  const keys = useRead(['keys'], (signal) => client.listKeys({ signal }));
  const [made, setMade] = useState<NewKey>();
  const [making, setMaking] = useState(false);
  const [ending, setEnding] = useState<ApiKey>();
  const queries = useQueryClient();
  const now = useNow();
  const run = useChange('keys');
  const [rotating, setRotating] = useState<ApiKey>();
  const rotate = (key: ApiKey) =>
    run('Key rotated', async () => setMade(await client.rotateKey({ params: { id: key.id } }))).then(() =>
      setRotating(undefined),
    );
  return (
    <Section
      title="API keys"
      link={
        <span className="ml">
          <Act scope="admin" kind="sm" onPress={() => setMaking(true)}>
            New key…
          </Act>
        </span>
      }
    >
      {made !== undefined && (
        <ShownOnce secret={made.key} onTaken={() => setMade(undefined)}>
          <b>{made.name}</b>
        </ShownOnce>
      )}
      <Read read={keys} what="Keys" rows={4}>
        {(data) => (
          <table className="tb flush">
            <thead>
              <tr>
                <th>Name</th>
                <th>Scopes</th>
                <th className="r not-s">Created</th>
                <th className="r not-s">Works until</th>
                <th className="r">Last used</th>
                <th />
              </tr>
            </thead>
            <tbody>
              {data.keys.map((key) => (
                <tr key={key.id} className={key.revokedAt === null ? '' : 'offr'}>
                  <td className="w100 clip">
                    <span className="strong">{visibleName(key.name)}</span> <span className="t3 mono">{key.id}</span>
                  </td>
                  <td className="t2">{key.scopes.join(', ')}</td>
                  <td className="r t3 not-s">
                    <Moment at={key.createdAt} short />
                  </td>
                  <td className="r t2 not-s">
                    {key.expiresAt === null ? <span className="t3">—</span> : <Moment at={key.expiresAt} short />}
                  </td>
                  <td className="r t2">{key.lastUsedAt === null ? 'never' : <Ago at={key.lastUsedAt} bare />}</td>
                  <td className="act">
                    {key.revokedAt !== null ? (
                      <span className="t3">revoked</span>
                    ) : key.expiresAt !== null && Date.parse(key.expiresAt) <= now ? (
                      <span className="t3">expired</span>
                    ) : (
                      <span className="btns">
                        <Act scope="admin" kind="sm" onPress={() => setRotating(key)}>
                          Rotate…
                        </Act>
                        <Act scope="admin" kind="sm danger" onPress={() => setEnding(key)}>
                          Revoke…
                        </Act>
                      </span>
                    )}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </Read>
      {making && (
        <MakeKey
          onClose={() => setMaking(false)}
          onMade={(key) => {
            setMade(key);
            setMaking(false);
            void queries.invalidateQueries({ queryKey: ['keys'] });
          }}
        />
      )}
      {rotating !== undefined && (
        <Dialog
          title={`Rotate “${visibleName(rotating.name)}”?`}
          open
          onClose={() => setRotating(undefined)}
          acts={
            <>
              <button type="button" className="b" onClick={() => setRotating(undefined)}>
                Cancel
              </button>
              <button type="button" className="b pri" onClick={() => void rotate(rotating)}>
                Rotate key
              </button>
            </>
          }
        >
          <p>
            You get a new key with the same scopes. The old key works until{' '}
            <b>{shortClock(endOfRotated(rotating, now))}</b>, so that you can replace it everywhere.
          </p>
        </Dialog>
      )}
      {ending !== undefined && (
        <Dialog
          title={`Revoke “${visibleName(ending.name)}”?`}
          open
          onClose={() => setEnding(undefined)}
          acts={
            <>
              <button type="button" className="b" onClick={() => setEnding(undefined)}>
                Cancel
              </button>
              <button
                type="button"
                className="b danger solid"
                onClick={() =>
                  void run('Revoked', () => client.revokeKey({ params: { id: ending.id } })).then(() =>
                    setEnding(undefined),
                  )
                }
              >
                Revoke key
              </button>
            </>
          }
        >
          <p>Requests with this key are rejected within 5 seconds.</p>
        </Dialog>
      )}
    </Section>
  );
}

/** A rotated key works for another day, unless it expires earlier. */
function endOfRotated({ expiresAt }: ApiKey, now: number): number {
  return Math.min(now + DAY_MS, expiresAt === null ? Number.POSITIVE_INFINITY : Date.parse(expiresAt));
}

function MakeKey({ onClose, onMade }: { onClose: () => void; onMade: (key: NewKey) => void }) {
  const [name, setName] = useState('');
  const [kind, setKind] = useState<string>(KINDS[0].id);
  const rejection = useRejection();
  const make = async () => {
    rejection.clear();
    try {
      onMade(
        await client.createKey({
          body: { name: name.trim(), scopes: [...(KINDS.find(({ id }) => id === kind)?.scopes ?? ['read'])] },
        }),
      );
    } catch (error) {
      rejection.set(error);
    }
  };
  return (
    <Dialog
      title="New API key"
      open
      onClose={onClose}
      acts={
        <>
          <button type="button" className="b" onClick={onClose}>
            Back
          </button>
          <button
            type="button"
            className="b pri"
            aria-disabled={name.trim() === '' || undefined}
            onClick={() => name.trim() !== '' && void make()}
          >
            Make key
          </button>
        </>
      }
    >
      <div className="kd">
        <Field label="Name" wrong={rejection.at('name')}>
          {(input) => (
            <input {...input} value={name} maxLength={100} onChange={(event) => setName(event.target.value)} />
          )}
        </Field>
        <label className="field">
          <span className="lab">Purpose</span>
          <select className="in" value={kind} onChange={(event) => setKind(event.target.value)}>
            {KINDS.map((one) => (
              <option key={one.id} value={one.id}>
                {one.name}
              </option>
            ))}
          </select>
        </label>
        <FailureLine>{rejection.besides('name')}</FailureLine>
      </div>
    </Dialog>
  );
}
