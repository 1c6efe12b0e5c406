import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { visible, visibleName } from '../../../../libs/contracts/src/visible.ts';
import type { Person } from '../api/model.ts';
import { NeedsAdmin, SettingsFrame } from '../settings/settings-frame.tsx';
import { useMay, useMe } from '../shell/me.tsx';
import { Act } from '../ui/act.tsx';
import { Empty, Read } from '../ui/faces.tsx';
import { Ago } from '../ui/moment.tsx';
import { Section } from '../ui/section.tsx';
import { PersonDialog } from './person-dialog.tsx';
import { Grants } from './roles.tsx';
import { usePeople } from './use-people.ts';

/** People who have signed in, with their roles and where each role comes from. */
export function PeoplePage() {
  const { may, why } = useMay('admin');
  const people = usePeople(may);
  const [openId, setOpenId] = useState<string>();
  return (
    <SettingsFrame title="People">
      {may ? (
        <Read read={people} what="People" rows={6}>
          {(data) => (
            <Section first title="People" note={data.people.length}>
              {data.people.length === 0 ? <NoPeople /> : <List people={data.people} onOpen={setOpenId} />}
              <OpenPerson person={data.people.find(({ id }) => id === openId)} onClose={() => setOpenId(undefined)} />
            </Section>
          )}
        </Read>
      ) : (
        <NeedsAdmin what="People" why={why} />
      )}
    </SettingsFrame>
  );
}

function OpenPerson({ person, onClose }: { person: Person | undefined; onClose: () => void }) {
  return person === undefined ? null : <PersonDialog key={person.id} person={person} onClose={onClose} />;
}

function NoPeople() {
  return (
    <Empty
      title="No person has signed in yet."
      act={
        <Link className="b pri" to="/settings/providers">
          Set up a sign-in provider
        </Link>
      }
    >
      People appear here after their first sign-in with your identity provider. Until then, keys are used.
    </Empty>
  );
}

function List({ people, onOpen }: { people: readonly Person[]; onOpen: (id: string) => void }) {
  const me = useMe();
  const names = new Map<string, number>();
  for (const { name } of people) names.set(name, (names.get(name) ?? 0) + 1);
  return (
    <table className="tb flush">
      <thead>
        <tr>
          <th>Person</th>
          <th>Roles</th>
          <th className="not-s">Teams</th>
          <th className="r not-s">Last sign-in</th>
          <th />
        </tr>
      </thead>
      <tbody>
        {people.map((person) => (
          <tr key={person.id} className={person.state === 'disabled' ? 'offr' : ''}>
            <td className="w100">
              <span className="strong">{visibleName(person.name)}</span>{' '}
              {person.id === me.person?.id && <span className="tag good">you</span>}{' '}
              {person.state === 'disabled' && <span className="tag bad">disabled</span>}
              <span className="rule-sentence">
                {visible(person.email ?? '')}
                {/* Two people with one name differ by the subject. */}
                {(person.email === null || (names.get(person.name) ?? 0) > 1) &&
                  ` ${person.identities.map(({ subject }) => visible(subject)).join(', ')}`}
              </span>
            </td>
            <td>
              <Grants grants={person.grants} />
            </td>
            <td className="t2 not-s">{person.teams.join(', ')}</td>
            <td className="r t3 not-s">{person.lastSeenAt === null ? 'never' : <Ago at={person.lastSeenAt} />}</td>
            <td className="act">
              <Act
                scope="admin"
                kind="sm"
                label={`Change ${visibleName(person.name)}`}
                onPress={() => onOpen(person.id)}
              >
                Change…
              </Act>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
