import { defineProvider } from '../provider.ts';
import { authorizationOf } from '../shared/authorization.ts';
import { webEndpoint } from '../shared/web-url.ts';
import { DavClient } from './dav-client.ts';
import { webdavScope } from './scope.ts';
import { WebdavSource } from './webdav-source.ts';

export const webdavProvider = defineProvider({
  slug: 'webdav',
  title: 'WebDAV',
  description: 'The files of a folder of Nextcloud, ownCloud, or another server that speaks WebDAV.',
  beta: false,
  credentialKinds: ['basic', 'bearer'],
  credentialRequired: false,
  detects: { changes: 'listing', deletions: 'listing', readers: false, push: false },
  scope: webdavScope,
  endpoint: ({ base_url: baseUrl }) => webEndpoint(baseUrl),
  open: async (scope, access) => {
    const { fetch, use } = access;
    const authorization = await authorizationOf(access);
    const { tenantId } = use;
    return new WebdavSource(
      new DavClient(fetch, { baseUrl: scope.base_url, authorization, tenantId }),
      scope,
    );
  },
});
