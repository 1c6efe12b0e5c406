// This folder's manifest names packages that only exist in the workspace, which is also why it is private.
console.error('Pack with `npm run package -w @agentlens/cli`; publish the folder apps/cli/dist/npm it makes.');
process.exit(1);
