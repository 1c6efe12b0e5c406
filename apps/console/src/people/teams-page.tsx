import { useState } from 'react';
import { visible, visibleName } from '../../../../libs/contracts/src/visible.ts';
import type { Team } from '../api/model.ts';
import { SettingsFrame } from '../settings/settings-frame.tsx';
import { Act } from '../ui/act.tsx';
import { Empty, Read } from '../ui/faces.tsx';
import { Section } from '../ui/section.tsx';
import { OnCall } from './on-call.tsx';
import { TeamDialog } from './team-dialog.tsx';
import { useTeams } from './use-people.ts';

/** Teams own agents and decide approvals. */
export function TeamsPage() {
  const teams = useTeams();
  const [open, setOpen] = useState<Team | 'new'>();
  return (
    <SettingsFrame title="Teams">
      <Read read={teams} what="Teams" rows={4}>
        {(data) => (
          <Section
            first
            title="Teams"
            note={data.teams.length}
            link={
              <span className="ml">
                <Act scope="admin" kind="sm" onPress={() => setOpen('new')}>
                  New team…
                </Act>
              </span>
            }
          >
            {data.teams.length === 0 ? (
              <Empty title="No teams yet.">
                A team owns agents, and an approval policy can name it. Its members come from groups of your provider,
                or are added by hand.
              </Empty>
            ) : (
              <table className="tb flush">
                <thead>
                  <tr>
                    <th>Team</th>
                    <th>Members</th>
                    <th className="not-s">Agents it owns</th>
                    <th />
                  </tr>
                </thead>
                <tbody>
                  {data.teams.map((team) => (
                    <tr key={team.id}>
                      <td>
                        <span className="strong">{visibleName(team.name)}</span>
                        <span className="rule-sentence mono">{team.id}</span>
                      </td>
                      <td className="w100">
                        <Members members={team.members} />
                      </td>
                      <td className="t2 mono not-s">{team.agents.map(visible).join(', ')}</td>
                      <td className="act">
                        <Act
                          scope="admin"
                          kind="sm"
                          label={`Change ${visibleName(team.name)}`}
                          onPress={() => setOpen(team)}
                        >
                          Change…
                        </Act>
                      </td>
                    </tr>
                  ))}
                </tbody>
              </table>
            )}
            {open !== undefined && (
              <TeamDialog team={open === 'new' ? undefined : open} onClose={() => setOpen(undefined)} />
            )}
          </Section>
        )}
      </Read>
      <OnCall />
    </SettingsFrame>
  );
}

const MAX_SHOWN = 8;

function Members({ members }: { members: Team['members'] }) {
  // A person can be a member by hand and from claims.
  const byPerson = new Map(members.map((member) => [member.person, member]));
  const shown = [...byPerson.values()].slice(0, MAX_SHOWN);
  if (shown.length === 0) return <span className="t3">no members yet</span>;
  return (
    <span className="tags">
      {shown.map(({ person, name, source }) => (
        <span
          key={person}
          className={`tag ${source === 'manual' ? 'acc' : ''}`}
          title={source === 'manual' ? 'Added by hand' : 'From claims of the provider'}
        >
          {visibleName(name)}
          {source === 'manual' && ', by hand'}
        </span>
      ))}
      {byPerson.size > MAX_SHOWN && <span className="t3">and {byPerson.size - MAX_SHOWN} more</span>}
    </span>
  );
}
