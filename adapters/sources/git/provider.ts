import { defineProvider } from '../provider.ts';
import { authorizationOf } from '../shared/authorization.ts';
import { webEndpoint } from '../shared/web-url.ts';
import { GitClient } from './git-client.ts';
import { GitSource } from './git-source.ts';
import { gitScope } from './scope.ts';

export const gitProvider = defineProvider({
  slug: 'git',
  title: 'Git repository',
  description: 'The files of a branch of a Git repository, over https.',
  beta: false,
  credentialKinds: ['basic', 'bearer'],
  credentialRequired: false,
  detects: { changes: 'listing', deletions: 'source', readers: false, push: false },
  scope: gitScope,
  endpoint: ({ url }) => webEndpoint(url),
  open: async (scope, access) => {
    const { fetch, use } = access;
    return new GitSource(new GitClient(fetch, scope.url, await authorizationOf(access)), scope, use);
  },
});
