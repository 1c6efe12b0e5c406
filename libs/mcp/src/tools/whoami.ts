import { actionsWith, type McpTool } from '../tool.ts';

const action = actionsWith({});

export const whoami: McpTool = {
  name: 'whoami',
  title: 'Who am I',
  description: 'Tenant, key and scopes; version and features of the platform.',
  fields: {},
  actions: {
    show: action({
      scope: 'read',
      run: async ({ client }) => {
        const [me, { features }] = await Promise.all([client.getMe(), client.getFeatures()]);
        return { value: { ...me, features }, path: '/settings' };
      },
    }),
  },
};
