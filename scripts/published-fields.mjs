// What every published package says of where it comes from. The owner is a placeholder until the repository is
// published: test/publishing.spec.ts holds the list of the places to fill.
const REPOSITORY = 'https://github.com/OWNER/agentlens';

/** @param directory the folder of the package in the repository */
export function publishedFields(directory) {
  return {
    repository: { type: 'git', url: `git+${REPOSITORY}.git`, directory },
    homepage: `${REPOSITORY}#readme`,
    bugs: { url: `${REPOSITORY}/issues` },
  };
}
