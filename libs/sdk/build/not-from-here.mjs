// This folder's manifest names workspace-only packages, so it is private.
console.error('Pack with `npm run package -w @agentlens/sdk`; publish the folder libs/sdk/dist/npm it makes.');
process.exit(1);
