import { useState } from 'react';
import { visible, visibleName } from '../../../../libs/contracts/src/visible.ts';
import { client } from '../api/client.ts';
import type { Person } from '../api/model.ts';
import { Dialog } from '../ui/dialog.tsx';
import { FailureLine } from '../ui/failure-line.tsx';
import { Icon } from '../ui/icon.tsx';
import { Moment } from '../ui/moment.tsx';
import { Facts } from '../ui/section.tsx';
import { useDialogChange } from '../ui/use-dialog-change.ts';
import { Grants, type Role, RoleField, TeamField } from './roles.tsx';
import { ifVersion, useTeams } from './use-people.ts';

interface Line {
  readonly role: Role;
  readonly team?: string | undefined;
}

/** Roles given by hand, and the ways to end a person's rights. */
export function PersonDialog({ person, onClose }: { person: Person; onClose: () => void }) {
  const { act, rejection } = useDialogChange(onClose);
  const teams = useTeams().data?.teams ?? [];
  const [lines, setLines] = useState<readonly Line[]>(
    person.grants
      .filter(({ source }) => source === 'manual')
      .map(({ role, team }) => (team === undefined ? { role } : { role, team })),
  );
  const name = visibleName(person.name);
  const params = { id: person.id };
  const isActive = person.state === 'active';
  const headers = ifVersion(person.version);
  const save = () =>
    act(`Roles of ${name} saved`, () =>
      client.updatePerson({ params, headers, body: { grants: lines.map(({ role, team }) => ({ role, team })) } }),
    );
  const setState = () =>
    act(isActive ? `${name} is disabled and signed out` : `${name} may sign in again`, () =>
      client.updatePerson({ params, headers, body: { state: isActive ? 'disabled' : 'active' } }),
    );
  const signOut = () => act(`${name} is signed out everywhere`, () => client.endPersonSessions({ params }));
  const change = (at: number, line: Line | undefined) =>
    setLines(lines.flatMap((one, index) => (index === at ? (line === undefined ? [] : [line]) : [one])));
  return (
    <Dialog
      title={name}
      open
      wide
      onClose={onClose}
      acts={
        <>
          <button type="button" className="b" onClick={() => void signOut()}>
            Sign out everywhere
          </button>
          <button type="button" className={`b ${isActive ? 'danger' : ''}`} onClick={() => void setState()}>
            {isActive ? 'Disable' : 'Enable'}
          </button>
          <span className="grow" />
          <button type="button" className="b" onClick={onClose}>
            Cancel
          </button>
          <button type="button" className="b pri" onClick={() => void save()}>
            Save roles
          </button>
        </>
      }
    >
      <div className="kd">
        <Facts
          facts={[
            ['Account', person.identities.map(({ subject }) => visible(subject)).join(', ')],
            [
              'E-mail',
              person.email === null
                ? 'not sent'
                : `${visible(person.email)}${person.emailVerified ? '' : ', not verified'}`,
            ],
            ['From claims', <Grants key="g" grants={person.grants.filter(({ source }) => source === 'provider')} />],
            person.claimsUntil !== null && [
              'Until',
              <span key="u">
                <Moment at={person.claimsUntil} short />, unless the person signs in again
              </span>,
            ],
            person.teams.length > 0 && ['Teams', person.teams.join(', ')],
          ]}
        />
        <fieldset className="rds">
          <legend className="lab">Roles given by hand</legend>
          <div className="lines">
            {lines.map((line, at) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: two lines can be equal while they are edited
              <div key={at} className="line grant">
                <RoleField
                  label="Role"
                  value={line.role}
                  onChange={(role = 'viewer') => change(at, { ...line, role })}
                />
                <TeamField
                  label="For the agents of"
                  none="for all agents"
                  value={line.team ?? ''}
                  teams={teams}
                  onChange={(team) => change(at, { role: line.role, team })}
                />
                <button
                  type="button"
                  className="b quiet ico"
                  aria-label="Remove this role"
                  onClick={() => change(at, undefined)}
                >
                  <Icon name="x" size={14} />
                </button>
              </div>
            ))}
          </div>
          <div className="btns topped">
            <button type="button" className="b sm" onClick={() => setLines([...lines, { role: 'approver' }])}>
              Add a role
            </button>
          </div>
        </fieldset>
        <p className="hint">
          Roles given by hand stay until an administrator removes them. Disabling ends every session and personal key
          within 5 seconds.
        </p>
        <FailureLine>{rejection.besides()}</FailureLine>
      </div>
    </Dialog>
  );
}
