import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { visibleName } from '../../../../libs/contracts/src/visible.ts';
import { client } from '../api/client.ts';
import type { NewPersonalKey } from '../api/model.ts';
import { useRead } from '../live-data/live-store.ts';
import { useMe } from '../shell/me.tsx';
import { Act } from '../ui/act.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { Read } from '../ui/faces.tsx';
import { FailureLine } from '../ui/failure-line.tsx';
import { Field, useRejection } from '../ui/field.tsx';
import { Ago, Moment } from '../ui/moment.tsx';
import { Section } from '../ui/section.tsx';
import { ShownOnce } from '../ui/shown-once.tsx';
import { useChange } from '../ui/use-change.ts';

type KeyWay = 'cli' | 'mcp' | 'api';

export const KEY_WAYS: readonly (readonly [KeyWay, string])[] = [
  ['cli', 'the command line'],
  ['mcp', 'an MCP client'],
  ['api', 'a script'],
];

/** Keys that act as the signed-in person. */
export function PersonalKeys() {
  const keys = useRead(['personal-keys'], (signal) => client.listPersonalKeys({ signal }));
  const run = useChange('personal-keys', 'The key was not revoked');
  const [making, setMaking] = useState(false);
  const [made, setMade] = useState<NewPersonalKey>();
  return (
    <Section
      title="Personal keys"
      note="act as you, with at most your roles"
      link={
        <span className="ml">
          <Act kind="sm" onPress={() => setMaking(true)}>
            New personal key…
          </Act>
        </span>
      }
    >
      {made !== undefined && (
        <ShownOnce secret={made.key} onTaken={() => setMade(undefined)}>
          <b>{visibleName(made.name)}</b>
        </ShownOnce>
      )}
      <Read read={keys} what="Personal keys" rows={2}>
        {(data) =>
          data.keys.length === 0 ? (
            <p className="hint topped">
              You have no personal key. <code>agentlens login</code> creates one for the command line after you confirm
              it here.
            </p>
          ) : (
            <table className="tb flush">
              <thead>
                <tr>
                  <th>Name</th>
                  <th>For</th>
                  <th className="not-s">May</th>
                  <th className="r not-s">Until</th>
                  <th className="r">Last used</th>
                  <th />
                </tr>
              </thead>
              <tbody>
                {data.keys.map((key) => (
                  <tr key={key.id}>
                    <td className="w100 strong">{visibleName(key.name)}</td>
                    <td className="t2">{KEY_WAYS.find(([way]) => way === key.via)?.[1] ?? key.via}</td>
                    <td className="t2 not-s">{key.scopes.join(', ')}</td>
                    <td className="r t3 not-s">{key.expiresAt !== null && <Moment at={key.expiresAt} short />}</td>
                    <td className="r t2">{key.lastUsedAt === null ? 'never' : <Ago at={key.lastUsedAt} bare />}</td>
                    <td className="act">
                      <button
                        type="button"
                        className="b sm danger"
                        onClick={() => void run('Revoked', () => client.deletePersonalKey({ params: { id: key.id } }))}
                      >
                        Revoke
                      </button>
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          )
        }
      </Read>
      {making && <MakeKey onClose={() => setMaking(false)} onMade={setMade} />}
    </Section>
  );
}

function MakeKey({ onClose, onMade }: { onClose: () => void; onMade: (key: NewPersonalKey) => void }) {
  const queries = useQueryClient();
  const { scopes } = useMe();
  const rejection = useRejection();
  const [name, setName] = useState('');
  const [via, setVia] = useState<KeyWay>('cli');
  const mayReview = scopes.includes('review');
  const make = async () => {
    rejection.clear();
    try {
      onMade(
        await client.createPersonalKey({
          body: { name: name.trim(), via, scopes: mayReview ? ['read', 'review'] : ['read'] },
        }),
      );
      onClose();
      await queries.invalidateQueries({ queryKey: ['personal-keys'] });
    } catch (error) {
      rejection.set(error);
    }
  };
  return (
    <Dialog
      title="New personal key"
      open
      onClose={onClose}
      acts={
        <>
          <button type="button" className="b" onClick={onClose}>
            Cancel
          </button>
          <button
            type="button"
            className="b pri"
            aria-disabled={name.trim() === '' || undefined}
            onClick={() => name.trim() !== '' && void make()}
          >
            Create key
          </button>
        </>
      }
    >
      <div className="kd">
        <Field label="Name" wrong={rejection.at('name')}>
          {(input) => (
            <input
              {...input}
              value={name}
              maxLength={100}
              placeholder="My laptop"
              onChange={(event) => setName(event.target.value)}
            />
          )}
        </Field>
        <Field label="Used by" wrong={rejection.at('via')} hint="An approval policy can exclude votes by it.">
          {(input) => (
            <select
              {...input}
              value={via}
              onChange={(event) => setVia(KEY_WAYS.find(([way]) => way === event.target.value)?.[0] ?? 'cli')}
            >
              {KEY_WAYS.map(([way, text]) => (
                <option key={way} value={way}>
                  {text}
                </option>
              ))}
            </select>
          )}
        </Field>
        <p className="hint">
          It can read{mayReview ? ' and vote on approvals' : ''}, works for 30 days, and ends with your roles.
        </p>
        <FailureLine>{rejection.besides('name', 'via')}</FailureLine>
      </div>
    </Dialog>
  );
}
