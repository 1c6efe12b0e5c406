import { useState } from 'react';
import { visibleName } from '../../../../libs/contracts/src/visible.ts';
import { client } from '../api/client.ts';
import type { Team } from '../api/model.ts';
import { Dialog, EditActs } from '../ui/dialog.tsx';
import { FailureLine } from '../ui/failure-line.tsx';
import { Field } from '../ui/field.tsx';
import { useDialogChange } from '../ui/use-dialog-change.ts';
import { ifVersion, usePeople } from './use-people.ts';

/** Words of a text, at spaces and commas. */
export function words(text: string): string[] {
  return text.split(/[\s,]+/).filter((word) => word !== '');
}

/** Creates a team or replaces it. */
export function TeamDialog({ team, onClose }: { team: Team | undefined; onClose: () => void }) {
  const { act, rejection } = useDialogChange(onClose);
  const people = usePeople().data?.people ?? [];
  const [id, setId] = useState(team?.id ?? '');
  const [name, setName] = useState(team?.name ?? '');
  const [agents, setAgents] = useState(team?.agents.join(' ') ?? '');
  const [members, setMembers] = useState<readonly string[]>(
    team?.members.filter(({ source }) => source === 'manual').map(({ person }) => person) ?? [],
  );
  const isReady = id.trim() !== '' && name.trim() !== '';
  const save = () =>
    act('Team saved', () =>
      client.setTeam({
        params: { id: id.trim() },
        headers: ifVersion(team?.version),
        body: { name: name.trim(), agents: words(agents), members: [...members] },
      }),
    );
  const toggle = (person: string) =>
    setMembers(members.includes(person) ? members.filter((one) => one !== person) : [...members, person]);
  return (
    <Dialog
      title={team === undefined ? 'New team' : visibleName(team.name)}
      open
      onClose={onClose}
      acts={
        <EditActs
          save="Save team"
          isReady={isReady}
          onSave={() => void save()}
          onClose={onClose}
          remove={
            team && {
              text: 'Delete team',
              onPress: () => void act('Team deleted', () => client.deleteTeam({ params: { id: team.id } })),
            }
          }
        />
      }
    >
      <div className="kd">
        <Field label="Id" wrong={rejection.at('params.id')} hint="Mappings and policies name the team by it. It stays.">
          {(input) => (
            <input
              {...input}
              value={id}
              disabled={team !== undefined}
              maxLength={40}
              placeholder="finance"
              onChange={(event) => setId(event.target.value)}
            />
          )}
        </Field>
        <Field label="Name" wrong={rejection.at('name')}>
          {(input) => (
            <input {...input} value={name} maxLength={100} onChange={(event) => setName(event.target.value)} />
          )}
        </Field>
        <Field
          label="Agents that the team owns"
          wrong={rejection.at('agents')}
          hint="Ids or patterns with *, separated by spaces."
        >
          {(input) => (
            <input
              {...input}
              className={`${input.className} mono`}
              value={agents}
              placeholder="billing-* refund-bot"
              onChange={(event) => setAgents(event.target.value)}
            />
          )}
        </Field>
        <fieldset className="rds">
          <legend className="lab">Members added by hand</legend>
          {people.length === 0 && <p className="hint">People appear here after their first sign-in.</p>}
          {people.map((person) => (
            <label key={person.id} className="row">
              <input type="checkbox" checked={members.includes(person.id)} onChange={() => toggle(person.id)} />
              <span>
                {visibleName(person.name)} <span className="t3">{person.email ?? ''}</span>
              </span>
            </label>
          ))}
        </fieldset>
        <FailureLine>{rejection.besides('params.id', 'name', 'agents')}</FailureLine>
      </div>
    </Dialog>
  );
}
