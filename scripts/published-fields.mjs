// Repository fields of a published package. The release workflow runs on the code host, which names the repository. A
// package made elsewhere has no such fields.
const { GITHUB_SERVER_URL = 'https://github.com', GITHUB_REPOSITORY } = process.env;

/** @param directory the folder of the package in the repository */
export function publishedFields(directory) {
  if (GITHUB_REPOSITORY === undefined) return {};
  const repository = `${GITHUB_SERVER_URL}/${GITHUB_REPOSITORY}`;
  return {
    repository: { type: 'git', url: `git+${repository}.git`, directory },
    homepage: `${repository}#readme`,
    bugs: { url: `${repository}/issues` },
  };
}
