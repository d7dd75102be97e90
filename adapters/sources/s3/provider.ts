import { SourceFailure } from '#domain/knowledge/connectors/source.ts';
import { defineProvider } from '../provider.ts';
import { webEndpoint } from '../shared/web-url.ts';
import { s3Scope } from './scope.ts';

export const s3Provider = defineProvider({
  slug: 's3',
  title: 'S3 bucket',
  description: 'Objects of a bucket of Amazon S3 or of a server that speaks its protocol.',
  beta: false,
  scope: s3Scope,
  credentialKinds: ['access_key'],
  credentialRequired: true,
  detects: { changes: 'listing', deletions: 'listing', readers: false, push: false },
  endpoint: ({ endpoint }) => webEndpoint(endpoint),
  open: async (scope, { fetch, credential }) => {
    if (credential?.kind !== 'access_key') {
      throw new SourceFailure('auth_failed', 'The connector needs an access key.');
    }
    // The SDK takes 35 MiB and a quarter of a second: only where such a connector runs.
    const { s3Source } = await import('./s3-source.ts');
    return s3Source(scope, { fetch, credential });
  },
});
