// This folder's manifest names workspace-only packages, so it is private.
console.error('Pack with `npm run package -w @agentlens/agent`; publish the folder libs/agent/dist/npm it makes.');
process.exit(1);
