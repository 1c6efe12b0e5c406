// This folder's manifest names packages that only exist in the workspace, which is also why it is private.
console.error('Pack with `npm run package -w @agentlens/agent`; publish the folder libs/agent/dist/npm it makes.');
process.exit(1);
